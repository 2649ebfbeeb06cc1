// Decoders and the scaler together: what a picture becomes.

#include "snug/data/image_scaler.h"

#include <gtest/gtest.h>

#include "snug/data/image_testing.h"
#include "snug/data/source_testing.h"
#include "snug/kernels/resize.h"
#include "snug/testing/memory_files.h"

namespace snug::testing {
namespace {

std::vector<float> scaled(const std::string& bytes, const ScaledSize& size) {
  MemoryFiles files;
  write_text(files, "picture", bytes);
  const std::unique_ptr<File> file = files.open("picture", OpenMode::read);
  const ImageHeader header = read_image_header(*file, "picture", {});
  const auto rows = decode_image(*file, header, static_cast<int>(size.channels), "picture");
  std::vector<float> all(static_cast<size_t>(size.height * size.width * size.channels), -1.0f);
  ImageScaler(size).scale(*rows, header, all.data());
  return all;
}

// As it stands in the file.
std::vector<float> decoded(const std::string& bytes, const Picture& picture, int channels) {
  return scaled(bytes, {picture.height, picture.width, channels});
}

std::vector<float> floats(const std::vector<uint8_t>& bytes) {
  return {bytes.begin(), bytes.end()};
}

void expect_near(const std::vector<float>& got, const std::vector<float>& wanted, float most) {
  ASSERT_EQ(got.size(), wanted.size());
  for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], wanted[i], most) << i;
}

TEST(DecodePng, GivesThePixels) {
  const Picture rgb = smooth_picture(9, 7, 3), rgba = smooth_picture(5, 6, 4);
  for (const bool interlaced : {false, true}) {
    EXPECT_EQ(decoded(png_bytes(rgb, {.interlaced = interlaced}), rgb, 3), floats(rgb.bytes));
    const PngOptions with_alpha{.type = PNG_COLOR_TYPE_RGB_ALPHA, .interlaced = interlaced};
    EXPECT_EQ(decoded(png_bytes(rgba, with_alpha), rgba, 4), floats(rgba.bytes));
  }
}

TEST(DecodePng, TurnsWhatItHasIntoWhatIsWanted) {
  const Picture grey = smooth_picture(4, 5, 1);
  const std::vector<float> as_rgb =
      decoded(png_bytes(grey, {.type = PNG_COLOR_TYPE_GRAY}), grey, 3);
  for (size_t i = 0; i < grey.bytes.size(); ++i) EXPECT_EQ(as_rgb[3 * i + 2], grey.bytes[i]);
  Picture deep{1, 2, 1, {10, 200, 250, 3}};  // 16 bits: the upper ones.
  EXPECT_EQ(decoded(png_bytes(deep, {.type = PNG_COLOR_TYPE_GRAY, .bits = 16}), deep, 1),
            (std::vector<float>{10, 250}));
  Picture indices{1, 3, 1, {2, 0, 1}};
  const PngOptions palette{.type = PNG_COLOR_TYPE_PALETTE,
                           .palette = {{255, 0, 0}, {0, 255, 0}, {0, 0, 255}},
                           .transparency = {128}};
  EXPECT_EQ(decoded(png_bytes(indices, palette), indices, 4),
            (std::vector<float>{0, 0, 255, 255, 255, 0, 0, 128, 0, 255, 0, 255}));
  const std::vector<float> grey_of_palette = decoded(png_bytes(indices, palette), indices, 1);
  const std::vector<float> weights{0.114F, 0.299F, 0.587F};  // libpng's releases round them apart.
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(grey_of_palette[i], weights[i] * 255, 1);
  Picture bits{1, 8, 1, {0b10110001}};
  EXPECT_EQ(decoded(png_bytes(bits, {.type = PNG_COLOR_TYPE_GRAY, .bits = 1}), bits, 1),
            (std::vector<float>{255, 0, 255, 255, 0, 0, 0, 255}));
}

TEST(DecodeJpeg, IsNearThePixels) {
  const Picture rgb = smooth_picture(33, 47, 3), grey = smooth_picture(20, 21, 1);
  const std::vector<float> plain = decoded(jpeg_bytes(rgb), rgb, 3);
  expect_near(plain, floats(rgb.bytes), 8);
  EXPECT_EQ(decoded(jpeg_bytes(rgb, {.progressive = true}), rgb, 3), plain);
  expect_near(decoded(jpeg_bytes(grey), grey, 1), floats(grey.bytes), 5);
  const std::vector<float> with_alpha = decoded(jpeg_bytes(rgb), rgb, 4);
  EXPECT_EQ(with_alpha[3], 255);
  EXPECT_EQ(with_alpha[4], plain[3]);
}

TEST(DecodeJpeg, TurnsInksIntoColours) {
  Picture inks{8, 8, 4, {}};
  for (int i = 0; i < 64; ++i) inks.bytes.insert(inks.bytes.end(), {200, 100, 50, 255});
  // libjpeg marks what it writes as Adobe's: the inverse of the inks.
  expect_near(
      decoded(jpeg_bytes(inks, {.colours = JCS_CMYK}), inks, 3),
      [] {
        std::vector<float> rgb;
        for (int i = 0; i < 64; ++i) rgb.insert(rgb.end(), {200, 100, 50});
        return rgb;
      }(),
      3);
}

TEST(ImageScaler, GivesWhatTheKernelsGive) {
  const Picture picture = smooth_picture(13, 17, 3);
  const std::vector<float> pixels = floats(picture.bytes);
  for (const auto& [height, width] : {std::pair{5, 4}, {26, 34}, {13, 17}, {1, 1}, {40, 3}}) {
    for (const bool bilinear : {true, false}) {
      SCOPED_TRACE(fmt::format("{} x {}", height, width));
      std::vector<float> wanted(static_cast<size_t>(height * width * 3));
      const kernels::Resize resize{13, 17, 3, height, width};
      (bilinear ? kernels::resize_bilinear : kernels::resize_nearest)(resize, pixels.data(),
                                                                      wanted.data(), 1);
      expect_near(scaled(png_bytes(picture), {height, width, 3, bilinear}), wanted, 1e-4f);
    }
  }
}

TEST(ImageScaler, CropsToTheShapeThatIsAsked) {
  Picture picture{4, 8, 1, {}};
  for (int i = 0; i < 32; ++i) picture.bytes.push_back(static_cast<uint8_t>(i));
  const std::string bytes = png_bytes(picture, {.type = PNG_COLOR_TYPE_GRAY});
  // Four columns in the middle, as they are.
  EXPECT_EQ(scaled(bytes, {4, 4, 1, true, true}),
            (std::vector<float>{2, 3, 4, 5, 10, 11, 12, 13, 18, 19, 20, 21, 26, 27, 28, 29}));
  EXPECT_EQ(scaled(bytes, {2, 8, 1, true, true}),
            (std::vector<float>{8, 9, 10, 11, 12, 13, 14, 15,  //
                                16, 17, 18, 19, 20, 21, 22, 23}));
}

TEST(ImageScaler, FindsDamageInRowsThatItDoesNotShow) {
  const Picture picture = smooth_picture(64, 64, 3);
  for (const bool png : {true, false}) {
    std::string bytes = png ? png_bytes(picture) : jpeg_bytes(picture);
    bytes.resize(bytes.size() - 40);
    expect_within(message_of<DataError>([&] { scaled(bytes, {1, 1, 3, false}); }), "cut off");
  }
}

// Every cut before the last pixel and a change of every byte: refused, or decoded.
TEST(ImageScaler, NothingCrashesIt) {
  const Picture picture = smooth_picture(9, 9, 3);
  for (const std::string& good :
       {png_bytes(picture, {.interlaced = true}), png_bytes(picture), jpeg_bytes(picture),
        jpeg_bytes(picture, {.progressive = true})}) {
    for (size_t i = 0; i < good.size(); ++i) {
      if (i + 24 < good.size()) {  // A PNG file ends with checksums and an empty chunk.
        EXPECT_THROW(scaled(good.substr(0, i), {4, 4, 3}), DataError) << i;
      }
      std::string changed = good;
      changed[i] = static_cast<char>(changed[i] ^ 0x5a);
      try {
        scaled(changed, {4, 4, 3});
      } catch (const DataError&) {
        continue;
      }
    }
  }
}

}  // namespace
}  // namespace snug::testing

#include "snug/data/image_header.h"

#include <gtest/gtest.h>

#include "snug/data/image_testing.h"
#include "snug/data/source_testing.h"
#include "snug/testing/memory_files.h"

namespace snug::testing {
namespace {

ImageHeader header_of(const std::string& bytes, const ImageLimits& limits = {}) {
  MemoryFiles files;
  write_text(files, "p", bytes);
  return read_image_header(*files.open("p", OpenMode::read), "p", limits);
}
std::string refusal(const std::string& bytes, const ImageLimits& limits = {}) {
  return message_of<DataError>([&] { header_of(bytes, limits); });
}

std::string big16(int number) {
  return {static_cast<char>(number >> 8), static_cast<char>(number & 0xff)};
}
std::string segment(int marker, const std::string& body) {
  return std::string("\xff") + static_cast<char>(marker) +
         big16(static_cast<int>(body.size()) + 2) + body;
}
// A frame of three components; the first is sampled `factors`, the others 1 x 1.
std::string frame(int marker, int height, int width, int factors = 0x11) {
  std::string body = "\x08" + big16(height) + big16(width) + "\x03";
  for (int i = 1; i <= 3; ++i) {
    body += static_cast<char>(i);
    body += static_cast<char>(i == 1 ? factors : 0x11);
    body += '\0';
  }
  return segment(marker, body);
}
std::string scan(int components) {
  return segment(0xda, std::string(1, static_cast<char>(components)) + std::string(9, '\1'));
}
const std::string kStart = "\xff\xd8";

TEST(ImageHeader, OfAJpegFile) {
  const ImageHeader header = header_of(kStart + frame(0xc0, 300, 400) + scan(3));
  EXPECT_EQ(header.format, ImageFormat::jpeg);
  EXPECT_EQ(header.height, 300);
  EXPECT_EQ(header.width, 400);
}

// Whatever stands before the frame is passed over, without being read.
TEST(ImageHeader, SegmentsBeforeTheFrameArePassedOver) {
  const std::string comment = segment(0xfe, std::string(60'000, 'x'));
  const std::string application = segment(0xe1, std::string(30'000, '\xff'));
  const ImageHeader header =
      header_of(kStart + comment + application + "\xff\xff\xff" +
                segment(0xdb, std::string(65, '\1')) + frame(0xc1, 7, 9) + scan(3));
  EXPECT_EQ(header.height, 7);
  EXPECT_EQ(header.width, 9);
}

TEST(ImageHeader, PicturesInSeveralPassesAreHeldWhole) {
  const int64_t rows = header_of(kStart + frame(0xc0, 800, 1000) + scan(3)).decoder_bytes;
  const int64_t progressive = header_of(kStart + frame(0xc2, 800, 1000) + scan(3)).decoder_bytes;
  const int64_t in_parts = header_of(kStart + frame(0xc0, 800, 1000) + scan(1)).decoder_bytes;
  EXPECT_EQ(progressive, in_parts);
  // Two bytes a sample, in whole blocks.
  EXPECT_EQ(progressive - rows, int64_t{2} * 3 * 800 * 1000);
  // Colours of half the size each way: half as many samples.
  const int64_t halved = header_of(kStart + frame(0xc2, 800, 1008, 0x22) + scan(3)).decoder_bytes -
                         header_of(kStart + frame(0xc0, 800, 1008, 0x22) + scan(3)).decoder_bytes;
  EXPECT_EQ(halved, int64_t{2} * (800 * 1008 + 2 * 400 * 504));
}

TEST(ImageHeader, OfAPngFile) {
  const Picture picture = smooth_picture(30, 50, 3);
  const ImageHeader plain = header_of(png_bytes(picture));
  EXPECT_EQ(plain.format, ImageFormat::png);
  EXPECT_EQ(plain.height, 30);
  EXPECT_EQ(plain.width, 50);
  const ImageHeader interlaced = header_of(png_bytes(picture, {.interlaced = true}));
  EXPECT_EQ(interlaced.decoder_bytes - plain.decoder_bytes, 4 * 30 * 50);
}

TEST(ImageHeader, LimitsAreKeptTo) {
  const std::string picture = kStart + frame(0xc0, 100, 100) + scan(3);
  EXPECT_EQ(header_of(picture, {.most_pixels = 10'000}).width, 100);
  expect_within(refusal(picture, {.most_pixels = 9'999}),
                "p: it claims 100 x 100 pixels, more than the 9999");
  const int64_t bytes = header_of(picture).decoder_bytes;
  EXPECT_EQ(header_of(picture, {.most_decoder_bytes = bytes}).width, 100);
  expect_within(refusal(picture, {.most_decoder_bytes = bytes - 1}), "raise most_decoder_bytes");
}

TEST(ImageHeader, EveryCutIsNamed) {
  const std::string jpeg = kStart + segment(0xfe, "comment") + frame(0xc0, 8, 8) + scan(3);
  for (size_t size = 2; size < jpeg.size() - 10; ++size)
    expect_within(refusal(jpeg.substr(0, size)), "cut off in its header");
  const std::string png = png_bytes(smooth_picture(3, 3, 3));
  for (size_t size = 8; size < 29; ++size)
    expect_within(refusal(png.substr(0, size)), "cut off in its header");
}

}  // namespace
}  // namespace snug::testing

// Pictures for tests, encoded in memory.
#pragma once

#include <png.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>
// clang-format off
#include <jpeglib.h>  // Needs <cstdio> before it.
// clang-format on

namespace snug::testing {

// Pixels by rows, `channels` bytes each (two bytes a sample, high first, where bits is 16).
struct Picture {
  int64_t height = 0, width = 0;
  int channels = 3;
  std::vector<uint8_t> bytes;
};

// Smooth in both directions, so that JPEG keeps it nearly as it is.
inline Picture smooth_picture(int64_t height, int64_t width, int channels) {
  Picture picture{height, width, channels, {}};
  for (int64_t i = 0; i < height; ++i) {
    for (int64_t j = 0; j < width; ++j) {
      for (int c = 0; c < channels; ++c) {
        const int64_t value = 20 + 60 * c + 100 * i / height + 40 * j / width;
        picture.bytes.push_back(static_cast<uint8_t>(std::min<int64_t>(value, 255)));
      }
    }
  }
  return picture;
}

struct JpegOptions {
  bool progressive = false;
  J_COLOR_SPACE colours = JCS_RGB;  // Of the pixels that are given: JCS_GRAYSCALE, JCS_CMYK.
  int quality = 95;
};

inline std::string jpeg_bytes(const Picture& picture, const JpegOptions& options = {}) {
  jpeg_compress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&jpeg, &memory, &size);
  jpeg.image_width = static_cast<JDIMENSION>(picture.width);
  jpeg.image_height = static_cast<JDIMENSION>(picture.height);
  jpeg.input_components = picture.channels;
  jpeg.in_color_space = picture.channels == 1 ? JCS_GRAYSCALE : options.colours;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, options.quality, TRUE);
  if (options.progressive) jpeg_simple_progression(&jpeg);
  jpeg_start_compress(&jpeg, TRUE);
  const auto stride = static_cast<size_t>(picture.width * picture.channels);
  for (size_t i = 0; i < static_cast<size_t>(picture.height); ++i) {
    JSAMPROW row = const_cast<uint8_t*>(picture.bytes.data() + i * stride);
    jpeg_write_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_compress(&jpeg);
  std::string bytes(reinterpret_cast<char*>(memory), size);
  jpeg_destroy_compress(&jpeg);
  std::free(memory);
  return bytes;
}

struct PngOptions {
  int type = PNG_COLOR_TYPE_RGB;
  int bits = 8;
  bool interlaced = false;
  std::vector<png_color> palette;
  std::vector<uint8_t> transparency;  // Of the palette's colours.
};

inline std::string png_bytes(const Picture& picture, const PngOptions& options = {}) {
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  std::string bytes;
  png_set_write_fn(
      png, &bytes,
      [](png_structp file, png_bytep from, size_t count) {
        static_cast<std::string*>(png_get_io_ptr(file))
            ->append(reinterpret_cast<char*>(from), count);
      },
      [](png_structp) {});
  png_set_IHDR(png, info, static_cast<png_uint_32>(picture.width),
               static_cast<png_uint_32>(picture.height), options.bits, options.type,
               options.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  if (!options.palette.empty()) {
    png_set_PLTE(png, info, options.palette.data(), static_cast<int>(options.palette.size()));
  }
  if (!options.transparency.empty()) {
    png_set_tRNS(png, info, options.transparency.data(),
                 static_cast<int>(options.transparency.size()), nullptr);
  }
  png_write_info(png, info);
  const size_t stride = picture.bytes.size() / static_cast<size_t>(picture.height);
  std::vector<png_bytep> rows;
  for (size_t i = 0; i < static_cast<size_t>(picture.height); ++i) {
    rows.push_back(const_cast<uint8_t*>(picture.bytes.data()) + i * stride);
  }
  png_write_image(png, rows.data());
  png_write_end(png, nullptr);
  png_destroy_write_struct(&png, &info);
  return bytes;
}

}  // namespace snug::testing

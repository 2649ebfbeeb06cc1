// What a JPEG or PNG file says of itself before any pixel is decoded.
#pragma once

#include <cstdint>
#include <string>

#include "snug/base/file.h"

namespace snug {

enum class ImageFormat { jpeg, png };

struct ImageHeader {
  ImageFormat format = ImageFormat::jpeg;
  int64_t height = 0, width = 0;
  // What a decoder of it holds at most, beside the bytes that it is fed: some rows, or the whole
  // picture where it comes in several passes (progressive, interlaced).
  int64_t decoder_bytes = 0;
};

struct ImageLimits {
  int64_t most_pixels = int64_t{1} << 27;
  int64_t most_decoder_bytes = int64_t{64} << 20;
};

// Reads a few hundred bytes. Throws DataError, which begins with `where` and ends with what to do:
// for a file that is empty, cut off in its header, another format (named where it is known),
// damaged, or larger than the limits; FileError.
ImageHeader read_image_header(File& file, const std::string& where, const ImageLimits& limits);

}  // namespace snug

// The pixels of a picture, decoded row by row as they are asked for.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "snug/base/file.h"
#include "snug/data/image_header.h"

namespace snug {

// One picture that is being decoded; rows come from the top.
class PixelRows {
 public:
  virtual ~PixelRows() = default;

  // Writes the next row: width * channels bytes. Throws DataError that names the file and the row
  // where it is cut off or damaged; FileError.
  virtual void read(uint8_t* to) = 0;
  // Goes over the rows that are left, so that damage in them is found too.
  virtual void skip_rest(int64_t rows) = 0;
};

// 1: grey, 3: red, green, blue, 4: with alpha. What the file has is turned into that: colours to
// grey as 0.299 R + 0.587 G + 0.114 B, CMYK to RGB, 16 bits to their upper 8, palettes to their
// colours; alpha is left out, or 255.
std::unique_ptr<PixelRows> decode_jpeg(File& file, const ImageHeader& header, int channels,
                                       const std::string& where);
std::unique_ptr<PixelRows> decode_png(File& file, const ImageHeader& header, int channels,
                                      const std::string& where);
inline std::unique_ptr<PixelRows> decode_image(File& file, const ImageHeader& header, int channels,
                                               const std::string& where) {
  return header.format == ImageFormat::jpeg ? decode_jpeg(file, header, channels, where)
                                            : decode_png(file, header, channels, where);
}

// What a decoder holds at most, its input included.
inline constexpr int64_t kImageInputBytes = int64_t{64} << 10;

}  // namespace snug

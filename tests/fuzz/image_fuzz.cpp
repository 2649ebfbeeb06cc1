// A JPEG or PNG file.

#include "snug/data/image_scaler.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/input_file.h"

namespace snug::fuzz {
namespace {

void decode(Input bytes, int channels) {
  constexpr ImageLimits kLimits{.most_pixels = 1 << 18, .most_decoder_bytes = 1 << 22};
  InputFile file("input", bytes);
  const ImageHeader header = read_image_header(file, "input", kLimits);
  const auto rows = decode_image(file, header, channels, "input");
  std::vector<float> pixels(static_cast<size_t>(5 * 6 * channels));
  ImageScaler({5, 6, channels, channels != 3, channels == 4}).scale(*rows, header, pixels.data());
}

}  // namespace

void read_input(Input bytes) {
  for (const int channels : {1, 3, 4}) refused_or_read([&] { decode(bytes, channels); });
}

}  // namespace snug::fuzz

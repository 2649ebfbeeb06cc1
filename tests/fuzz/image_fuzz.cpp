// Any bytes as a JPEG or PNG file: decoded, or refused with an error of the user's kind.

#include "snug/data/image_scaler.h"
#include "tests/fuzz/input_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr snug::ImageLimits kLimits{.most_pixels = 1 << 18, .most_decoder_bytes = 1 << 22};
  for (const int channels : {1, 3, 4}) {
    try {
      snug::fuzz::InputFile file("input", {data, size});
      const snug::ImageHeader header = snug::read_image_header(file, "input", kLimits);
      const auto rows = snug::decode_image(file, header, channels, "input");
      snug::ImageScaler({5, 6, channels, channels != 3, channels == 4})
          .scale(*rows, header, [](int64_t, const float*) {});
    } catch (const snug::InternalError&) {
      throw;
    } catch (const snug::Error&) {
      continue;
    }
  }
  return 0;
}

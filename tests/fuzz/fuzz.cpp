#include "tests/fuzz/fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  snug::fuzz::refused_or_read([&] { snug::fuzz::read_input({data, size}); });
  return 0;
}

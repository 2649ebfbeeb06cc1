// Any bytes as an .npz file: arrays are read, or refused with an error of the user's kind.

#include "snug/data/npz.h"
#include "tests/fuzz/input_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  snug::fuzz::InputFiles files({data, size});
  try {
    snug::fuzz::read_all(*snug::data::npz(
        {.file = "input", .most_in_memory = 1 << 20, .files = &files, .buffer_bytes = 16}));
  } catch (const snug::InternalError&) {
    throw;
  } catch (const snug::Error&) {
    return 0;
  }
  return 0;
}

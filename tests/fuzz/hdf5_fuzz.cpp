// Any bytes as an HDF5 file: read, or refused with an error of the user's kind.

#include "snug/interop/hdf5.h"
#include "tests/fuzz/input_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  try {
    snug::fuzz::InputFile file("input", {data, size});
    snug::with_modern_names(snug::read_hdf5(file, "input"));
  } catch (const snug::InternalError&) {
    throw;
  } catch (const snug::Error&) {
    return 0;
  }
  return 0;
}

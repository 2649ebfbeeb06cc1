// An HDF5 file.

#include "snug/interop/hdf5.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/input_file.h"

void snug::fuzz::read_input(Input bytes) {
  InputFile file("input", bytes);
  with_modern_names(read_weights(file, "input"), "input");
}

// An .npz file.

#include "snug/data/npz.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/input_file.h"

void snug::fuzz::read_input(Input bytes) {
  InputFiles files(bytes);
  read_all(*data::npz(
      {.file = "input", .most_in_memory = 1 << 20, .files = &files, .buffer_bytes = 16}));
}

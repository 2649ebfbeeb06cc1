// An IDX file, plain or compressed.

#include "snug/data/idx.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/input_file.h"

void snug::fuzz::read_input(Input bytes) {
  InputFiles files(bytes);
  read_all(
      *data::idx({.x = {"input"}, .files = &files, .buffer_bytes = 16, .most_in_memory = 1 << 20}));
}

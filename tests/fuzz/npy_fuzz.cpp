// An .npy file.

#include "snug/data/npy.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/input_file.h"

void snug::fuzz::read_input(Input bytes) {
  InputFiles files(bytes);
  read_all(*data::npy({.x = {"input"}, .files = &files, .buffer_bytes = 16}));
}

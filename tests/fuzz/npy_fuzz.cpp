// An .npy file.

#include "snug/data/npy.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/input_file.h"

void snug::fuzz::read_input(Input bytes) {
  InputFiles files(bytes);
  refused_or_read(
      [&] { read_all(*data::npy({.x = {"input"}, .files = &files, .buffer_bytes = 16})); });
  // Fortran order needs a folder; the second time the rows are found there.
  const auto open = [&] {
    return data::npy({.x = {"input"}, .cache = "cache", .files = &files, .buffer_bytes = 16});
  };
  read_all(*open());
  read_all(*open());
}

// An .npz file.

#include "snug/data/npz.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/input_file.h"

void snug::fuzz::read_input(Input bytes) {
  InputFiles files(bytes);
  data::NpzOptions options{
      .file = "input", .most_in_memory = 1 << 20, .files = &files, .buffer_bytes = 16};
  refused_or_read([&] { read_all(*data::npz(options)); });
  options.cache = "cache";
  read_all(*data::npz(options));
  read_all(*data::npz(options));
}

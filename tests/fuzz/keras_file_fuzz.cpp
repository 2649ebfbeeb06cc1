// A file of Keras's, an archive or HDF5: its model, what it was compiled with, and which of its
// arrays belong to which weights.

#include "snug/interop/keras_file.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/input_file.h"

void snug::fuzz::read_input(Input bytes) {
  InputFiles files(bytes);
  const KerasFile file("input", files);
  file.optimizer();
  if (!file.has_model()) return;
  const std::shared_ptr<Network> network = file.network();
  refused_or_read([&] { file.compile_options(*network); });
  file.match(*network);
}

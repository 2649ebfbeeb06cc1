// Rows that layers prepare while they are read: the layers of a model, and their kernels, as a
// stage of the pipeline.
#pragma once

#include <cstdint>
#include <vector>

#include "snug/data/source.h"
#include "snug/nn/layer.h"

namespace snug::data {

struct PreprocessOptions {
  std::vector<Layer> layers;  // One after the other; each takes one value and gives one.
  bool training = true;       // Random layers draw; else they do nothing.
  uint64_t seed = 0;
  int threads = 0;  // That work on a batch; 0: one a core.
};

// Of a source with random access: its first field goes through the layers row by row, the others
// stay. What is drawn for a row depends on the seed, the number of the pass and the row's number:
// not on threads, batches or where a run was resumed. A source of the same values is needed for
// what must not be random (validation). Memory: one small plan a thread (buffer_bytes). Throws
// Error where a layer does not take what it is given.
SourcePtr preprocessed(SourcePtr source, const PreprocessOptions& options);

}  // namespace snug::data

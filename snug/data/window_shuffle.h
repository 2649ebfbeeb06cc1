// A shuffle of rows that come in sequence.
#pragma once

#include "snug/data/source.h"

namespace snug::data {

struct WindowShuffleOptions {
  int64_t bytes = int64_t{16} << 20;  // For the rows that wait, as a batch has them.
  uint64_t seed = 0;
  bool reshuffle_each_iteration = true;
};

// Rows of a source without random access, each drawn from so many that wait: a row comes at most
// that much too early, as with tf.data's buffer, but counted in bytes. The order depends on the
// seed, the pass and the size of the window. Every row comes once a pass, and those of two passes
// never mix.
SourcePtr window_shuffled(SourcePtr source, const WindowShuffleOptions& options);

}  // namespace snug::data

// Rows in sequence that are made before they are asked for.
#pragma once

#include <memory>
#include <mutex>

#include "snug/data/source.h"

namespace snug::data {

struct SequenceAheadOptions {
  int64_t batches = 1;     // That may wait.
  int64_t batch_rows = 1;  // They are made so many at a time.
  // Held while the source is used; sources that stand on one another share it. Null: one of its
  // own.
  std::shared_ptr<std::mutex> use;
};

// The rows of a source with Access::replay, made by a thread of their own while those before them
// are used: the function of a generator is called there, and nowhere else. The thread begins with
// the first row that is asked for and stops with the pass. An error comes where its row would have
// come. What waits is counted in buffer_bytes().
SourcePtr made_ahead(SourcePtr source, SequenceAheadOptions options);

}  // namespace snug::data

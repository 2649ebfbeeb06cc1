// Sources that are another source with its rows in another order, or only some of them.
#pragma once

#include <optional>

#include "snug/data/row_order.h"
#include "snug/data/source.h"

namespace snug::data {

// The rows of a source with random access in this order, another one in each pass where the order
// says so. Messages name the rows by their numbers in `source`. An order without end is read in
// sequence only: Access::replay, rows not known.
SourcePtr ordered(SourcePtr source, const RowOrder& order);

// The rows in the order of pass 0 in every pass, for what remembers rows by their numbers. A source
// whose order does not change is given back as it is.
SourcePtr pinned(SourcePtr source);

// The same rows, of which so many batches are to be read ahead; none with 0.
SourcePtr prefetched(SourcePtr source, int64_t batches);

// A part of what a source gives in sequence, again and again.
struct Stretch {
  int64_t skip = 0;                   // In each repetition.
  std::optional<int64_t> take;        // Nullopt: until the source ends.
  std::optional<int64_t> repeat = 1;  // Nullopt: without end. More than 1 needs Access::replay.
};
// Each repetition is a pass of its own. A pass over a source that cannot start again goes on where
// it stands.
SourcePtr stretched(SourcePtr source, const Stretch& stretch);

}  // namespace snug::data

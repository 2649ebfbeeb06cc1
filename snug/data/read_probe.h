// How long rows take to be read one by one, and side by side.
#pragma once

#include <cstdint>
#include <functional>

#include "snug/data/source.h"

namespace snug {

// Seconds for one row.
struct ReadProbe {
  double single = 0;   // Read by itself, somewhere.
  double stretch = 0;  // One of neighbours that are read together.

  // Whether steps that take so long would wait for batches of single rows where they would not, or
  // far less, for rows that are read in stretches.
  bool starves(int64_t batch_rows, double step_seconds) const;
};

// Reads a few rows of a source with random access: some that are drawn by the seed, and two
// stretches; single ones for at most a tenth of a second. `now` gives seconds: the machine's clock
// where it is empty.
ReadProbe probe_reads(Source& source, uint64_t seed, std::function<double()> now = {});

}  // namespace snug

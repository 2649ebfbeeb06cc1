// A sequence that keeps a chosen set of values across one moment and makes the others again when
// they are needed.
#pragma once

#include <vector>

#include "snug/plan/timeline.h"

namespace snug {

// Up to the position the sequence stays as it is; of what exists then, only `kept` and what the
// unit there uses remain. Whatever is read later is made again just before, once, and stays until
// its last reader.
std::vector<int> make_on_demand(const Timeline& timeline, int position,
                                const std::vector<char>& kept);

}  // namespace snug

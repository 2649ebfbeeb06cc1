// What has to run before a value is there.
#pragma once

#include <cstddef>
#include <vector>

#include "snug/plan/unit_graph.h"

namespace snug {

// Calls `run` with the unit that makes the value, after those of what it reads, and so on: for
// every value of which `wants` says that it has to be made. `wants` is asked once for each reader
// that runs, and no longer wants what has run. Without recursion: a chain can be as long as the
// graph.
template <typename Wants, typename Run>
void make_first(const UnitGraph& graph, int value, const Wants& wants, const Run& run) {
  struct Open {
    int unit;
    size_t next = 0;  // Of what it reads.
  };
  std::vector<Open> open;
  const auto want = [&](int v) {
    if (wants(v)) open.push_back({graph.producer[v]});
  };
  for (want(value); !open.empty();) {
    const int unit = open.back().unit;
    const std::vector<int>& in = graph.units[unit].in;
    if (open.back().next < in.size()) {
      want(in[open.back().next++]);
    } else {
      run(unit);
      open.pop_back();
    }
  }
}

}  // namespace snug

// What it takes to have some values at one time.
#pragma once

#include <cstdint>
#include <vector>

#include "snug/plan/unit_graph.h"

namespace snug {

// When a value is made for the last time before that, those whose last time was earlier are there
// already, and so is what it is made from.
class Gathering {
 public:
  explicit Gathering(const UnitGraph& graph);

  // What a unit needs for itself.
  int64_t working(int unit) const { return working_[unit]; }
  // No sequence has these values at once in fewer bytes.
  int64_t bytes(const std::vector<int>& values);

 private:
  int64_t beside(int value);
  int64_t beside(const Unit& unit) const;

  const UnitGraph& graph_;
  std::vector<std::vector<int>> makers_;  // By value.
  std::vector<int64_t> working_;          // By unit.
  std::vector<int> is_wanted_;            // By value: in which look.
  int look_ = 0;
  int64_t work_ = 0;
};

}  // namespace snug

// What is worth keeping across one moment of a sequence.
#pragma once

#include <cstdint>
#include <vector>

#include "snug/plan/timeline.h"

namespace snug {

// What a unit needs for itself while it runs, overwrites taken wherever they are allowed.
int64_t working_bytes(const UnitGraph& graph, const Unit& unit);

// While the unit at a position runs, the values that are there beside it fit the rest of the limit;
// all others that are read later must be made again, with all that they need and that is not there.
// With a price for each byte that is kept, the cheapest choice is a minimum cut between what is
// kept and what is made again.
class Instant {
 public:
  Instant(const Timeline& timeline, int position, int64_t limit);

  // No choice within the limit needs less time for what is made again.
  double bound() const { return bound_; }
  // The values to keep, by the lowest price at which they fit.
  const std::vector<char>& kept() const { return kept_; }

 private:
  void cut(double price);
  bool exists(int value) const;
  bool can_be_made_again(int value) const;
  int unit_node(int unit) const { return 2 + static_cast<int>(graph_.bytes.size()) + unit; }
  int work_node(int node) const { return unit_node(static_cast<int>(graph_.units.size())) + node; }

  const Timeline& timeline_;
  const UnitGraph& graph_;
  int position_;
  double room_ = 0, total_ = 0, bound_ = 0, kept_bytes_ = 0;
  std::vector<char> free_;  // By value: part of what the unit itself needs.
  std::vector<char> kept_;
};

}  // namespace snug

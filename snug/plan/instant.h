// What is worth keeping across one moment.
#pragma once

#include <cstdint>
#include <vector>

#include "snug/plan/min_cut.h"
#include "snug/plan/moment.h"

namespace snug {

// While the unit of a moment runs, the values that are there beside it fit the rest of the limit;
// all others that are read later must be made again, with all that they need and that is not there.
// With a price for each byte that is kept, the cheapest choice is a minimum cut between what is
// kept and what is made again.
class Instant {
 public:
  // `held` is kept in any case and without a choice, `dropped` is not kept.
  Instant(const UnitGraph& graph, const Moment& moment, int64_t limit,
          const std::vector<int>& held = {}, const std::vector<int>& dropped = {});

  // No choice within the limit needs less time for what is made again.
  double bound() const { return bound_; }
  // Values to keep, which fit: by the best price, or as near to it as whole values come.
  const std::vector<char>& kept() const { return kept_; }
  // The largest value that the best price keeps in part only; -1: there is none, so the bound is
  // that of a choice.
  int undecided() const { return undecided_; }
  int64_t work() const { return cut_.work(); }

 private:
  // What one price leads to.
  struct Choice {
    double ns = 0, bytes = 0;
    std::vector<char> kept;
  };

  void add_values(const std::vector<int>& dropped);
  void add_units();
  Choice everything_kept() const;
  Choice choose(double price);
  void search();
  void find_undecided(const Choice& large, const Choice& small);
  void mix(const Choice& large, Choice small);
  int64_t whole(double ns) const;
  int unit_node(int unit) const { return 2 + static_cast<int>(graph_.bytes.size()) + unit; }
  int work_node(int node) const { return unit_node(static_cast<int>(graph_.units.size())) + node; }

  const UnitGraph& graph_;
  const Moment& moment_;
  double room_ = 0, total_ = 1e-9, bound_ = 0;
  std::vector<char> free_;  // By value: part of what the unit itself needs, or held.
  std::vector<char> kept_;
  int undecided_ = -1;
  bool keeps_all_ = true;  // Every value may be kept.
  MinCut cut_;
  std::vector<int> value_edge_;  // By value: the one that is paid for keeping it, or -1.
};

}  // namespace snug

// Values that wait on the disk: a third way beside keeping them and computing them again.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "snug/plan/placement.h"
#include "snug/plan/plan.h"
#include "snug/plan/recompute.h"
#include "snug/plan/spill_schedule.h"

namespace snug {

// Finds a sequence of a graph within a limit.
using SequenceSearch =
    std::function<std::optional<std::vector<int>>(const UnitGraph&, int64_t limit, Effort)>;

// The plans of one problem that may use the spill file. Reading a value back is one more unit that
// makes it again, so that one search weighs it against all else. What it costs there is a share of
// the time that the disk takes for it: little where the disk is idle beside the computation, all of
// it where it is not. Several shares are tried; the plans are compared by their predicted time.
class Spiller {
 public:
  // Problem and graph must outlive it.
  Spiller(const Problem& problem, const UnitGraph& graph, const DiskSpeed& disk,
          int64_t most_bytes);

  // A plan with an arena within the capacity and a file within its own limit; nothing when none was
  // found. It carries out with_transfers(problem, its transfers).
  std::optional<Plan> plan(int64_t capacity, Effort effort, const SequenceSearch& search) const;

 private:
  // By value; 0: it is not to go to the file.
  std::vector<double> prices(int64_t limit, double share) const;
  std::vector<double> remake_ns(const std::vector<char>& waits) const;
  std::vector<char> waiting(int64_t limit) const;
  std::optional<Plan> squeeze(int64_t capacity, Effort effort, double share,
                              const SequenceSearch& search) const;
  std::optional<Plan> lay_out_spilled(const Timeline& timeline, int64_t capacity, Aim aim) const;

  const Problem& problem_;
  const UnitGraph& graph_;
  DiskSpeed disk_;
  int64_t most_bytes_;
};

}  // namespace snug

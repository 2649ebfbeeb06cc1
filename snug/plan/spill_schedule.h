// When values go to the spill file and come back, for a sequence that says which.
#pragma once

#include <optional>
#include <vector>

#include "snug/plan/cost_model.h"
#include "snug/plan/timeline.h"

namespace snug {

// The graph with another way to make the values again that have a price: a unit without inputs that
// reads the value back from the file. The values that go there count with the pages they stand on.
UnitGraph with_reads(const Problem& problem, UnitGraph graph, const std::vector<double>& price_ns);

// Schedule and transfers of a sequence of such a graph. The nodes of the schedule are those of the
// problem, then the transfers.
struct SpillSchedule {
  Schedule schedule;
  std::vector<PlanTransfer> transfers;
  int64_t file_bytes = 0;
};

// A write starts when the value is made and a read in time for its first reader, as far as there is
// room below `room_limit` for what lives longer for that; without room they are waited for at once,
// which takes no more than the sequence itself. Nothing: the sequence reads what was not yet made,
// or after state was written.
std::optional<SpillSchedule> spill_schedule(const Problem& problem, const Timeline& timeline,
                                            int64_t room_limit, const DiskSpeed& disk);

}  // namespace snug

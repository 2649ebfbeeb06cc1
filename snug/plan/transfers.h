// A plan's way to the spill file and back, as nodes of the problem that it carries out.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "snug/plan/instantiate.h"
#include "snug/plan/plan.h"

namespace snug {

// The values that stand on pages when these go to the spill file: they themselves, and what may
// stand in the same place before and after them.
std::vector<char> paged_values(const Problem& problem, const std::vector<char>& spilled);

// The problem with the transfers as its last nodes, in one stage of their own.
Problem with_transfers(Problem problem, std::span<const PlanTransfer> transfers);
// The problem of the program alone.
Problem without_transfers(Problem problem);
// The instance for such a plan.
void add_transfers(Instance& instance, const Plan& plan);

// What a step writes to the spill file and reads from it.
struct SpilledBytes {
  int64_t written = 0, read = 0;
};
SpilledBytes spilled_bytes(const Problem& problem, const Plan& plan);

// The time of one step by the problem's costs: nodes one after the other, transfers beside them and
// one after the other, which makes nodes slower; a node waits where a transfer has not ended.
double predicted_ns(const Problem& problem, const Plan& plan);

}  // namespace snug

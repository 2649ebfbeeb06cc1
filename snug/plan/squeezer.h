// The plans of one problem at any capacity.
#pragma once

#include <memory>
#include <optional>
#include <span>

#include "snug/plan/cost_model.h"
#include "snug/plan/deep.h"
#include "snug/plan/exhaustive.h"
#include "snug/plan/plan.h"
#include "snug/plan/recompute.h"
#include "snug/plan/transfers.h"

namespace snug {

class Squeezer {
 public:
  explicit Squeezer(const Problem& problem, const SpillLimits& spill = {},
                    const DiskSpeed& disk = {});

  const Problem& problem() const { return *problem_; }
  // In the order of the program, every node once.
  const Plan& free_plan();
  // The time of every node once, by the problem's costs.
  double free_ns() const { return free_ns_; }
  // Whether that plan is within the capacity.
  bool fits_freely(int64_t capacity);
  // No plan has a smaller arena, as long as stages with parts keep in their lanes what the program
  // keeps there.
  int64_t least_bytes();
  // A plan whose arena is within the capacity; nothing when none was found. quick: any plan; full:
  // the least time that could be found. What is found with `quick` is found with `full`. Where it
  // has transfers it carries out with_transfers(problem(), its transfers).
  std::optional<Plan> plan(int64_t capacity, Effort effort);
  // Proven: no plan has an arena within the capacity. Of problems without parts.
  bool is_impossible(int64_t capacity);
  // Where there can be one: no less time than this. For an arena within the capacity.
  double least_cost_ns(int64_t capacity);
  // Gives back the memory of what it has worked out; it works that out again when it is asked.
  void forget();

 private:
  int64_t least_without_file();
  std::optional<Plan> recomputed(int64_t capacity, Effort effort);
  std::optional<Plan> squeeze(int64_t capacity, Effort effort);
  // What could not be placed within the capacity.
  struct Unplaced {
    int64_t limit = 0;
    std::vector<int> sequence;
  };
  std::optional<Plan> placed_between(int64_t capacity, int64_t low, Unplaced unplaced);
  std::optional<Plan> looked_for(int64_t capacity);
  std::optional<Plan> spilled(int64_t capacity, Effort effort);
  std::optional<std::vector<int>> find_sequence(const UnitGraph& graph, int64_t limit,
                                                Effort effort);
  const UnitGraph& graph();
  const ExhaustiveResult& truth(int64_t limit);
  const ExhaustiveResult& proof(int64_t limit);
  const DeepResult& last_look(int64_t capacity);

  const Problem* problem_;
  std::optional<Plan> free_;  // Made when it is first wanted,
  int64_t free_bytes_ = 0;    // which is not below this.
  double free_ns_ = 0;
  SpillLimits spill_;
  DiskSpeed disk_;
  std::unique_ptr<UnitGraph> graph_;              // Made when it is first wanted.
  std::optional<std::vector<int>> late_, order_;  // Orders to begin from.
  int64_t least_bytes_ = -1;                      // Not worked out yet,
  int64_t least_beside_file_ = -1;                // nor this.
  ExhaustiveResult truth_;                        // At the limit that was last asked for.
  int64_t truth_limit_ = -1;
  ExhaustiveResult proof_;  // The same, whatever results may share: what it denies does not exist.
  int64_t proof_limit_ = -1;
  DeepResult looked_;  // And this.
  int64_t looked_limit_ = -1;
};

// The least budget at which one of the problems was found to have a plan, to a hundredth: at two
// hundredths less none was found with that effort. All of them have the same persistent bytes.
struct LeastPlan {
  int64_t budget_bytes = 0;
  size_t way = 0;  // Which of the problems.
  Plan plan;
};
// What a program keeps for each step of its plan: where much is computed again or goes to a file,
// that is more than the last bytes of the arena.
inline constexpr int64_t kBytesOfAStep = 512;
struct LeastPlans {
  LeastPlan least;
  // Of all plans that were found on the way, with the memory of their steps; its budget is without.
  LeastPlan lightest;
};
LeastPlans least_plans(std::span<Squeezer> ways, Effort effort = Effort::full);

}  // namespace snug

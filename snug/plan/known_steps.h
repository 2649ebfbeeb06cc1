// What searches of this thread have found of steps, for the next budget that is tried for them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "snug/plan/problem.h"
#include "snug/plan/recipe.h"

namespace snug {

// A plan of one of the ways to run a step.
struct KnownPlan {
  size_t way = 0;
  Recipe recipe;
  bool is_rough = false;  // See PlannedStep.
};

struct KnownStep {
  std::optional<KnownPlan> least, lightest;
  int64_t least_bytes = 0;  // The budget of the least.
  // The plan that was chosen at a capacity; none: nothing was found there.
  std::map<int64_t, std::optional<KnownPlan>> tried;
  std::map<int64_t, KnownPlan> rough;  // Found at a capacity without care.
};

// Null where no PlanningScope lives.
KnownStep* known_step(uint64_t fingerprint);
void count_least_search();

// Of all that decides a plan.
class Fingerprint {
 public:
  template <typename... Numbers>
  void add(Numbers... numbers) {
    (mix(static_cast<uint64_t>(numbers)), ...);
  }
  void add(double number);
  void add(const std::vector<int>& numbers);
  void add(const Problem& problem);
  uint64_t value() const { return value_; }

 private:
  void mix(uint64_t number) {
    value_ = (value_ ^ number) * 0x9e3779b97f4a7c15;
    value_ ^= value_ >> 29;
  }
  uint64_t value_ = 0;
};

}  // namespace snug

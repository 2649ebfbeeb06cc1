// Fits that are tried and not run: what another budget, batch size or optimizer would do.
#pragma once

#include <ctime>
#include <optional>
#include <string>
#include <vector>

#include "snug/plan/fit_budget.h"
#include "snug/train/fit_setup.h"

namespace snug {

// What is tried in the place of the fit's own.
struct FitChange {
  std::optional<int64_t> batch_size;
  Compiled* compiled = nullptr;  // With another optimizer.
};

// Each trial is planned and compiled as a process would meet it that begins, and is given back.
// While it lives, what is found of a step is kept for the next trial.
class FitTrials {
 public:
  // `budget` is the one that the fit has or had: with what this process was then. Tries the fit
  // without a limit. This and all below throws NoRoomError where the machine has too little memory
  // for a trial. `begun`: since when its seconds count, by std::clock.
  FitTrials(Model& model, SourcePtr data, const FitOptions& options, const Budget& budget,
            std::clock_t begun = std::clock());

  // At its fastest: what that takes, and what of it is largest.
  int64_t fastest_bytes() const { return fastest_bytes_; }
  int64_t fastest_arena_bytes() const { return fastest_arena_bytes_; }
  int64_t batch_size() const { return batch_size_; }
  const std::string& largest_part() const { return largest_part_; }

  // The plan where every process that begins accepts the fit within so many bytes; nothing where
  // one would refuse it.
  std::optional<FitPlan> within(int64_t bytes, const FitChange& change = {},
                                Wanted wanted = Wanted::any);
  // The plan without a limit.
  FitPlan unlimited(const FitChange& change = {});

  // The least budget that works, to a thousandth and what processes differ by. Looks for it for so
  // long, and then takes what it knows.
  int64_t least(double seconds);

  // So many budgets, evenly from the least that works to one at which it is at its fastest: each
  // works, with how its steps run then.
  std::vector<CurvePoint> curve(int points);

  // Since all of it began: of this process, so that other programs do not change what is
  // found in time.
  double seconds() const;

 private:
  std::optional<FitPlan> at(int64_t bytes, const FitChange& change = {},
                            Wanted wanted = Wanted::any);
  int64_t without_chance(int64_t bytes) const;
  bool is_enough(int64_t bytes);
  void note_start();
  Budget begin_trial(int64_t bytes);
  void learn_first_pages(const FilePages& touched);
  int64_t least_planned();
  int64_t least_tried(double seconds);
  int64_t enough_to_find(int64_t works);
  int64_t fastest_that_works();

  Model& model_;
  SourcePtr data_;
  const FitOptions& options_;
  Budget budget_;
  int64_t fastest_bytes_ = 0, fastest_arena_bytes_ = 0, batch_size_ = 0;
  TrialStart start_bytes_;
  int64_t hidden_bytes_ = 0;  // Of the last trial: the next is planned with as much less.
  int64_t peak_bytes_ = 0;    // The most that was resident in a trial.
  std::string largest_part_;
  PlanningScope once_;
  std::clock_t begun_;
};

}  // namespace snug

// A fit resolved against its data and planned, before any of its memory is taken: the one way to a
// plan, for `plan`, `--dry-run` and `fit`.
#pragma once

#include <functional>
#include <optional>

#include "snug/train/budget.h"
#include "snug/train/model.h"
#include "snug/train/stager.h"

namespace snug {

struct FitSetup {
  int64_t batch_size = 32;
  RowRange training_rows;
  std::optional<Stager> training, validation;
  // How their rows are read while steps run; nullopt where they need not be.
  std::optional<ReadAheadOptions> training_ahead, validation_ahead;
  FitPlan plan;
};

// Plans training on whole and last batches, validation on whole and last batches, and all that
// stands beside their arena. `compiled` is the model's, or another one that is tried in its place.
// With `reserve_bytes` of the budget 0 it is estimated. Throws Error when options, data and model
// do not go together, BudgetError when the plan is not within the budget.
// Of a trial, which asks what would be at another budget, nothing is measured to weigh its ways.
FitSetup plan_fit(Model& model, Compiled& compiled, const SourcePtr& data,
                  const FitOptions& options, const Budget& budget, bool is_trial = false);

// A plan within the budget, with what is reserved in it; throws BudgetError.
using PlanWithin = std::function<FitSetup(const Budget& budget)>;

// Plans and compiles, until the plan and what its kernels turned out to take, which is then in
// `budget`, are within it together. Throws BudgetError when they cannot be, NoRoomError where the
// machine has too little to find out. While others run in this process, what the kernels take is
// not measured; a trial (no `alone`) is never disturbed.
FitSetup compile_within(const PlanWithin& plan, Budget& budget, const AloneScope* alone);

// The same with its kernels compiled: within the budget together with what they turned out to take,
// which is then in `budget`. Throws FitRefused, which says what would fit, before anything of the
// fit's state is allocated.
FitSetup compile_fit(Model& model, const SourcePtr& data, const FitOptions& options, Budget& budget,
                     const AloneScope& alone);

// The same, as a process would meet it that stands where this one stood when the budget was made;
// nothing where it would be refused. `compiled` is the model's, or another one in its place. Throws
// NoRoomError.
std::optional<FitPlan> try_fit(Model& model, Compiled& compiled, const SourcePtr& data,
                               const FitOptions& options, Budget budget);

// Compiles the kernels of a plan and puts what they take into it.
void measure_kernels(FitPlan& plan, const Budget& budget);

// Puts the process back to where it stood when the budget was made: what tries took is given back,
// and their peak is not counted.
void forget_tries(const Budget& budget);

// What is resident and still to come, less what the plan has names for.
int64_t measured_reserve(const FitPlan& plan, const Budget& budget, int64_t still_to_come);

// More than such a fit can need, without planning it.
int64_t most_bytes(Model& model, const SourcePtr& data, const FitOptions& options, Budget budget);

// The budget of such a fit, with what of its state is resident already.
Budget fit_budget(const Model& model, const SourcePtr& data, const FitOptions& options);

// Rows that are only described: enough for a plan. `rows` of them.
SourcePtr described_rows(const Network& network, const std::vector<Shape>& target_rows,
                         int64_t rows);

// Where the rows of validation_split begin, as in Keras: the last so many.
int64_t first_validation_row(int64_t rows, double validation_split);

}  // namespace snug

// Fits whose values wait on the disk: the same bits as without, and nothing wrong when the disk
// fails.

#include <gtest/gtest.h>

#include <random>

#include "snug/base/error.h"
#include "snug/data/arrays.h"
#include "snug/exec/spill_file.h"
#include "snug/nn/activation_layers.h"
#include "snug/nn/convolution.h"
#include "snug/nn/dropout.h"
#include "snug/nn/merging.h"
#include "snug/nn/metrics.h"
#include "snug/nn/normalization.h"
#include "snug/nn/pooling.h"
#include "snug/nn/shape_layers.h"
#include "snug/testing/faulty_file.h"
#include "snug/testing/sanitized.h"
#include "snug/train/fit.h"
#include "snug/train/fit_testing.h"
#include "snug/train/refusal.h"

namespace snug::testing {
namespace {

constexpr int64_t kRows = 32, kSide = 32, kChannels = 8, kBatch = 12;

struct Images {
  std::vector<float> x;
  std::vector<int32_t> y;
  Images() {
    std::mt19937_64 random(5);
    for (int64_t i = 0; i < kRows * kSide * kSide * kChannels; ++i)
      x.push_back(static_cast<float>(random() % 2001) / 1000 - 1);
    for (int64_t i = 0; i < kRows; ++i) y.push_back(static_cast<int32_t>(random() % 4));
  }
  SourcePtr source() const {
    return data::arrays(Array(x.data(), {kRows, kSide, kSide, kChannels}), Array(y));
  }
};

Symbol normed(const Symbol& x, int64_t filters) {
  const Symbol y = Conv2D(filters, {3, 3}, {.padding = "same"})(x);
  return Activation("relu")(BatchNormalization()(y));
}

Model residual() {
  const Symbol x = Input({kSide, kSide, kChannels});
  Symbol y = normed(x, 16);
  for (int i = 0; i < 3; ++i) y = Add()({y, normed(normed(y, 16), 16)});
  return Model(x, Dense(4)(GlobalAveragePooling2D()(y)));
}

Model convolutional() {
  const Symbol x = Input({kSide, kSide, kChannels});
  Symbol y = x;
  for (int i = 0; i < 5; ++i) y = Dropout(0.1)(normed(y, 16));
  return Model(x, Dense(4)(Flatten()(MaxPooling2D(2)(y))));
}

// The pixels are the rows of its products.
Model dense() {
  const Symbol x = Input({kSide, kSide, kChannels});
  Symbol y = x;
  for (int i = 0; i < 5; ++i) y = BatchNormalization()(Dense(24, "tanh")(y));
  return Model(x, Dense(4)(GlobalAveragePooling2D()(y)));
}

struct Case {
  const char* name;
  Model (*model)();
  Optimizer optimizer;
};

std::vector<Case> cases() {
  return {{"residual, SGD", residual, SGD({.learning_rate = 0.01, .momentum = 0.9})},
          {"residual, Adam", residual, Adam({.learning_rate = 1e-3, .global_clipnorm = 1.0})},
          {"convolutional, RMSprop", convolutional, RMSprop({.learning_rate = 1e-4})},
          {"dense, Adam", dense, Adam({.learning_rate = 1e-4, .weight_decay = 1e-3})}};
}

// So fast that the planner takes it wherever something has to give.
constexpr DiskSpeed kFast{.read = 1000, .write = 1000, .start_ns = 10, .drag = 0};

FitOptions options_with(int64_t memory, bool spills) {
  FitOptions options{.batch_size = kBatch, .epochs = 7, .verbose = 0, .memory = memory};
  options.seed = 3;
  options.threads = 1;
  options.spill.allowed = spills;
  options.spill.speed = kFast;
  return options;
}

Model compiled(const Case& one) {
  Model model = one.model();
  CompileOptions options;
  options.optimizer = one.optimizer;
  options.loss = SparseCategoricalCrossentropy({.from_logits = true});
  options.metrics = {"accuracy"};
  model.compile(std::move(options));
  return model;
}

// The training step of a case, planned within a budget for the arena and the variables.
class Trained {
 public:
  Trained(const Case& one, const SourcePtr& data, int64_t budget_bytes, bool spills)
      : model_(compiled(one)), stager_(data, {.range = {.count = kRows}, .batch_size = kBatch}) {
    model_.network().set_paths();
    RunnerOptions options{.target = {.threads = 1},
                          .partition = {.parts = false},
                          .budget_bytes = budget_bytes,
                          .costs = CostModel{.threads = 1, .disk = kFast}};
    options.spill.allowed = spills;
    runner_ = std::make_unique<Runner>(training_step(model_.network(), model_.compiled(),
                                                     target_types(*data, model_.network(), false)),
                                       stager_.batch_rows(), options);
  }

  const Runner& runner() const { return *runner_; }
  const Plan& plan() const { return runner_->programs()[0]->plan(); }
  int64_t total_bytes() const { return plan().total_bytes(); }

  // Seven passes of three steps, the last of them with fewer rows.
  std::vector<std::vector<float>> weights(bool use_ring = true) {
    Variables state;
    for (const auto& [variable, value] : runner_->step().variables) state.push_back(variable);
    model_.ensure_weights(3);
    allocate(state, 3);
    Arena arena(runner_->arena_bytes());
    SpillFile file(real_files(), spill_folder(real_files(), {}),
                   std::max<int64_t>(kPageBytes, runner_->file_bytes()), use_ring);
    runner_->bind(arena.data(), &file.queue());
    for (uint64_t pass = 0; pass < 7; ++pass) {
      stager_.begin_pass(pass);
      while (const auto batch = stager_.next(*runner_)) {
        feed_learning_rates(runner_->step(), *batch->program);
        batch->program->run(batch->info);
      }
    }
    return model_.get_weights();
  }

 private:
  Model model_;
  Stager stager_;
  std::unique_ptr<Runner> runner_;
};

// Rows are cut in no way, so that the bits are those of any plan.
TEST(Spill, TheSameBitsAtEveryBudget) {
  const Images images;
  int spilled = 0;
  for (const Case& one : cases()) {
    SCOPED_TRACE(one.name);
    Trained free(one, images.source(), kUnlimited, false);
    const int64_t arena_bytes = free.plan().arena_bytes, total_bytes = free.total_bytes();
    const auto weights = free.weights();
    for (const double share : {0.2, 0.4, 0.6}) {
      const auto less = static_cast<int64_t>(share * static_cast<double>(arena_bytes));
      Trained tight(one, images.source(), total_bytes - less, true);
      EXPECT_LE(tight.total_bytes(), total_bytes - less);
      EXPECT_TRUE(tight.weights() == weights) << share << " of the arena less";
      spilled += tight.plan().transfers.empty() ? 0 : 1;
    }
  }
  EXPECT_GE(spilled, 9);
}

// Normalisation over the batch forbids micro-batches. The disk carries such a model as low as
// computing again does, and there at no more than a part of its time.
TEST(Spill, BatchNormalisationGoesAsLowInLessTime) {
  const Images images;
  const Case one = cases()[0];
  const auto least = [&](bool spills) {
    try {
      const Trained none(one, images.source(), 1, spills);
    } catch (const StepBudgetError& error) {
      return error.least_bytes();
    }
    return int64_t{0};
  };
  const int64_t with = least(true), without = least(false);
  EXPECT_LE(with, without + without / 100);
  const Trained spilled(one, images.source(), without, true);
  const Trained computed(one, images.source(), without, false);
  EXPECT_FALSE(spilled.plan().transfers.empty());
  EXPECT_LT(spilled.plan().step_ns, computed.plan().step_ns);
}

// A third less than all that the arena wants.
int64_t tight_budget(const Case& one, const SourcePtr& data, bool reproducible = false) {
  Model first = compiled(one), model = compiled(one);
  FitOptions options = options_with(0, false);
  options.reproducible = reproducible;
  // What the first fit of a process touches for the first time is not the others'.
  FitRun(first, data, options);
  const FitRun run(model, data, options);
  return run.plan().needed_bytes() - run.plan().arena_bytes / 3;
}

TEST(Spill, ThePlanSaysWhatAStepMoves) {
  if (kSanitized) GTEST_SKIP() << "the costs that the plan weighs are the sanitizer's";
  const Images images;
  const int64_t budget = tight_budget(cases()[0], images.source());
  Model model = compiled(cases()[0]);
  const FitRun free(model, images.source(), options_with(0, false));
  EXPECT_EQ(free.plan().text().find("written and"), std::string::npos);
  const FitRun tight(model, images.source(), options_with(budget, true));
  EXPECT_GT(tight.plan().spilled_bytes().written, 0);
  EXPECT_NE(tight.plan().text().find("written and"), std::string::npos) << tight.plan().text();
}

TEST(Spill, AThreadGivesTheSameBits) {
  const Images images;
  const Case one = cases()[0];
  const int64_t budget = Trained(one, images.source(), kUnlimited, false).total_bytes() * 6 / 10;
  Trained ring(one, images.source(), budget, true), thread(one, images.source(), budget, true);
  EXPECT_FALSE(thread.plan().transfers.empty());
  EXPECT_TRUE(ring.weights(true) == thread.weights(false));
}

// Every step's call to the disk fails once in each way. The run ends with an error that names the
// folder; the weights are those of the last whole step.
TEST(Spill, ADiskThatFailsEndsTheRunAndLeavesTheModelWhole) {
  if (kSanitized) GTEST_SKIP() << "the sanitizer's memory grows beside the budget's";
  const Images images;
  const Case one = cases()[0];
  FitOptions options = options_with(tight_budget(one, images.source(), true), true);
  options.epochs = 1;
  options.reproducible = true;  // What a run finds left of the budget decides how it cuts the rows.
  FaultyFiles files(real_files());
  files.set_count_reads(true);
  options.spill.files = &files;

  std::vector<std::vector<std::vector<float>>> states;  // After each step, without faults.
  for (int64_t steps = 0; steps <= 3; ++steps) {
    Model model = compiled(one);
    FitOptions some = options;
    some.steps_per_epoch = std::max<int64_t>(1, steps);
    FitRun run(model, images.source(), some);
    if (steps > 0) run.run();
    states.push_back(model.get_weights());
  }
  int errors = 0;
  for (const Fault fault : {Fault::input_output, Fault::no_space, Fault::short_write}) {
    for (const int64_t call : {1, 6, 15, 28}) {
      Model model = compiled(one);
      FitRun run(model, images.source(), options);
      ASSERT_GT(run.plan().spilled_bytes().written, 0);
      files.fail_call(call, fault);
      try {
        run.run();
      } catch (const FileError& error) {
        ++errors;
        EXPECT_NE(fault, Fault::short_write) << error.what();
      }
      files.fail_call(INT32_MAX, fault);
      EXPECT_GT(std::ranges::count(states, model.get_weights()), 0) << "at call " << call;
    }
  }
  EXPECT_GE(errors, 4);
}

TEST(Spill, AFolderOfTheUsersThatIsNoDiskIsAnError) {
  const Images images;
  Model model = compiled(cases()[0]);
  FitOptions options = options_with(64_MiB, true);
  options.spill.folder = "/no/such/folder";
  EXPECT_THROW(model.plan(images.source(), options), FileError);
}

}  // namespace
}  // namespace snug::testing

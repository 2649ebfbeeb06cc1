#include "snug/optim/optimizer_definition.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstdlib>
#include <new>

#include "snug/base/log.h"
#include "snug/testing/optimizer_run.h"

namespace {
std::atomic<int64_t> allocations = 0;
}

// Not inlined, for g++ would take malloc and delete for a pair that does not match.
[[gnu::noinline]] void* operator new(size_t bytes) {
  ++allocations;
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc();
}
[[gnu::noinline]] void* operator new(size_t bytes, const std::nothrow_t&) noexcept {
  ++allocations;
  return std::malloc(bytes);
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }

namespace snug::testing {
namespace {

const Type kTable{DType::float32, {10, 2}};
const Type kVector{DType::float32, {3}};

std::vector<std::string> slot_names(const Optimizer& optimizer) {
  std::vector<std::string> names;
  for (const Slot& slot : optimizer->slots({{"e/table", kTable, true}, {"d/bias", kVector}})) {
    names.push_back(slot.name);
  }
  return names;
}

TEST(OptimizerDefinition, OrdersSlotsAsKeras) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(slot_names(SGD()), (Names{"iteration"}));
  EXPECT_EQ(slot_names(Adam({.amsgrad = true, .use_ema = true})),
            (Names{"iteration", "e_table_average", "d_bias_average", "e_table_momentum",
                   "e_table_velocity", "d_bias_momentum", "d_bias_velocity", "e_table_velocity_hat",
                   "d_bias_velocity_hat", "e_table_touched"}));
  EXPECT_EQ(slot_names(RMSprop({.momentum = 0.5, .centered = true})),
            (Names{"iteration", "e_table_velocity", "d_bias_velocity", "e_table_momentum",
                   "d_bias_momentum", "e_table_average_gradient", "d_bias_average_gradient",
                   "e_table_touched"}));
  EXPECT_EQ(slot_names(Nadam()),
            (Names{"iteration", "e_table_momentum", "e_table_velocity", "d_bias_momentum",
                   "d_bias_velocity", "u_product", "e_table_touched"}));
  EXPECT_EQ(slot_names(Adagrad()),
            (Names{"iteration", "e_table_accumulator", "d_bias_accumulator"}));
}

TEST(OptimizerDefinition, DescribesSlots) {
  const std::vector<Slot> slots = Adagrad({.weight_decay = 0.5})->slots({{"t", kTable, true}});
  ASSERT_EQ(slots.size(), 3u);
  EXPECT_EQ(slots[0].type, (Type{DType::int64, {}}));
  EXPECT_EQ(slots[0].weight, -1);
  EXPECT_EQ(slots[1].type, kTable);
  EXPECT_EQ(slots[1].initial, 0.1);
  EXPECT_EQ(slots[1].weight, 0);
  EXPECT_EQ(slots[2].type, (Type{DType::uint8, {10}}));
  EXPECT_EQ(slots[2].role, Slot::Role::touched);
}

TEST(OptimizerDefinition, CountsUpdatesAndAsksTheSchedule) {
  OptimizerRun run(SGD({.learning_rate = PiecewiseConstantDecay({0, 1}, {1, 0.5, 0.25})}),
                   {{"w", {1}, {8}}});
  for (int i = 0; i < 4; ++i) run.step({{{1}, {}}});
  EXPECT_EQ(run.weight_values(0), (Floats{8 - 1 - 0.5 - 0.25 - 0.25}));
  EXPECT_EQ(run.iterations(), 4);
}

TEST(OptimizerDefinition, SparesWeightsFromDecay) {
  const Optimizer sgd = SGD(
      {.learning_rate = 1, .weight_decay = 0.5, .exclude_from_weight_decay = {"^bias$", "gamma"}});
  OptimizerRun run(sgd, {{"dense/kernel", {1}, {8}},
                         {"dense/bias", {1}, {8}},
                         {"bias/kernel", {1}, {8}},
                         {"norm/gamma_2", {1}, {8}}});
  run.step({{{1}, {}}, {{1}, {}}, {{1}, {}}, {{1}, {}}});
  const Floats expected = {3, 7, 3, 7};
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(run.weight_values(i), Floats{expected[i]}) << i;
}

TEST(OptimizerDefinition, ClipsByEachNormAndShowsNan) {
  OptimizerRun run(SGD({.learning_rate = 1, .clipnorm = 1}),
                   {{"a", {2}, {0, 0}}, {"b", {2}, {0, 0}}, {"c", {2}, {0, 0}}});
  run.step({{{3, 4}, {}}, {{INFINITY, 1}, {}}, {{NAN, 1}, {}}});
  EXPECT_FLOAT_EQ(run.weight_values(0)[0], -0.6f);
  EXPECT_FLOAT_EQ(run.weight_values(0)[1], -0.8f);
  EXPECT_TRUE(std::isnan(run.weight_values(1)[0]));
  EXPECT_EQ(run.weight_values(1)[1], 0);
  EXPECT_TRUE(std::isnan(run.weight_values(2)[0]));
  EXPECT_TRUE(std::isnan(run.weight_values(2)[1]));
  EXPECT_TRUE(std::isnan(run.values(run.nodes().reach)[0]));
  EXPECT_EQ(run.tensor(run.nodes().square_norms).as<double>()[0], 25);
}

TEST(OptimizerDefinition, ClipsByTheNormOfAll) {
  OptimizerRun run(SGD({.learning_rate = 1, .global_clipnorm = 1}),
                   {{"a", {1}, {0}}, {"b", {1}, {0}}});
  run.step({{{3}, {}}, {{4}, {}}});
  EXPECT_FLOAT_EQ(run.weight_values(0)[0], -0.6f);
  EXPECT_FLOAT_EQ(run.weight_values(1)[0], -0.8f);
  run.step({{{INFINITY}, {}}, {{4}, {}}});
  EXPECT_TRUE(std::isnan(run.weight_values(0)[0]));
  EXPECT_TRUE(std::isnan(run.weight_values(1)[0]));
}

TEST(OptimizerDefinition, LeavesWeightsWithoutAGradientAlone) {
  Graph graph;
  const Value a = graph.variable("a", kVector), b = graph.variable("b", kVector);
  const Value g = graph.input("g", kVector);
  std::string warning;
  LogSink before =
      set_log_sink([&](LogLevel, std::string_view message) { warning = std::string(message); });
  const OptimizerNodes nodes = Adam().apply_gradients({Value(), g}, {a, b});
  set_log_sink(std::move(before));
  EXPECT_EQ(warning, "Adam: a has no gradient and stays as it is");
  EXPECT_EQ(nodes.slots.size(), 5u);
  for (const int read : nodes.reach.producer()->in()) EXPECT_NE(read, a.id());
}

TEST(OptimizerDefinition, SaysWhatDoesNotFit) {
  Graph graph;
  const Value w = graph.variable("w", kVector), g = graph.input("g", kVector);
  EXPECT_EQ(error_of([&] { Adam().apply_gradients({g}, {}); }),
            "Adam: 1 gradients for 0 weights; give one for each, in the same order");
  EXPECT_EQ(error_of([&] { Adam().apply_gradients({Value()}, {w}); }),
            "Adam: no weight has a gradient; the loss does not depend on any of them");
  EXPECT_EQ(error_of([&] { Adam().apply_gradients({g}, {g}); }),
            "Adam: g is no variable; only variables are updated");
  EXPECT_EQ(error_of([&] { Adam().apply_gradients({g}, {Value()}); }),
            "Adam: an empty value is no variable; only variables are updated");
}

TEST(OptimizerDefinition, AllocatesNothingInAStep) {
  for (const int threads : {1, 2}) {
    OptimizerRun run(Adam({.weight_decay = 0.1, .global_clipnorm = 1, .use_ema = true}),
                     {{"w", {50'000}, Floats(50'000, 1)}, {"t", {1000, 4}, Floats(4000, 1), 2}},
                     threads);
    run.give({{Floats(50'000, 1), {}}, {{1, 2, 3, 4}, {7}}});
    run.run();
    const int64_t before = allocations;
    run.run();
    EXPECT_EQ(allocations, before);
  }
}

}  // namespace
}  // namespace snug::testing

// Gradients that list rows must have the effect of dense ones, weight for weight and slot for slot.

#include <gtest/gtest.h>

#include <random>

#include "snug/testing/optimizer_run.h"

namespace snug::testing {
namespace {

constexpr int64_t kEntries = 3000, kColumns = 13, kListed = 40;

// A gradient of some distinct rows in no order, in both forms.
struct RowsAndDense {
  TestGradient rows;
  TestGradient dense;
};

RowsAndDense draw(std::mt19937& random) {
  RowsAndDense gradient;
  gradient.dense.elements.assign(kEntries * kColumns, 0);
  std::vector<int32_t>& indices = gradient.rows.indices;
  std::uniform_int_distribution<int32_t> any(0, kEntries - 1), fewer(0, kListed);
  std::normal_distribution<float> element;
  const int count = fewer(random);
  while (static_cast<int>(indices.size()) < count) {
    const int32_t row = any(random) % 200;  // So that some come again.
    if (std::ranges::count(indices, row) > 0) continue;
    indices.push_back(row);
    for (int64_t c = 0; c < kColumns; ++c) {
      gradient.rows.elements.push_back(element(random));
      gradient.dense.elements[row * kColumns + c] = gradient.rows.elements.back();
    }
  }
  return gradient;
}

struct Named {
  std::string what;
  Optimizer optimizer;
};

std::vector<Named> optimizers() {
  return {
      {"sgd", SGD()},
      {"momentum", SGD({.momentum = 0.9})},
      {"nesterov", SGD({.momentum = 0.9, .nesterov = true})},
      {"sgd, decay", SGD({.weight_decay = 0.1})},
      {"sgd, clipnorm", SGD({.clipnorm = 0.5})},
      {"adam", Adam()},
      {"amsgrad", Adam({.amsgrad = true})},
      {"adam, clipvalue", Adam({.clipvalue = 0.5})},
      {"adam, global, average", Adam({.global_clipnorm = 0.5, .use_ema = true})},
      {"adamw", AdamW()},
      {"adamw, spared", AdamW({.exclude_from_weight_decay = {"table"}})},
      {"rmsprop", RMSprop()},
      {"rmsprop, all", RMSprop({.momentum = 0.5, .centered = true})},
      {"adagrad", Adagrad()},
      {"adagrad, decay", Adagrad({.weight_decay = 0.1})},
      {"adadelta", Adadelta({.learning_rate = 1})},
      {"adamax", Adamax()},
      {"nadam", Nadam()},
      {"lion", Lion()},
  };
}

// Weights and all slots that both forms have.
std::vector<Floats> state(const OptimizerRun& run) {
  std::vector<Floats> all = {run.weight_values(0), run.weight_values(1)};
  for (size_t i = 1; i < run.nodes().slots.size(); ++i) {
    if (run.nodes().slots[i].role == Slot::Role::touched) continue;
    all.push_back(run.values(run.nodes().variables[i]));
  }
  return all;
}

void expect_near(const std::vector<Floats>& actual, const std::vector<Floats>& expected,
                 bool clips) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    ASSERT_EQ(actual[i].size(), expected[i].size());
    if (!clips) {
      EXPECT_EQ(actual[i], expected[i]) << "array " << i;
      continue;
    }
    // The norm adds up the same squares in another order.
    for (size_t k = 0; k < actual[i].size(); ++k) {
      ASSERT_NEAR(actual[i][k], expected[i][k], 1e-6) << "array " << i << ", element " << k;
    }
  }
}

TEST(RowGradient, HasTheEffectOfADenseOne) {
  for (const auto& [what, optimizer] : optimizers()) {
    SCOPED_TRACE(what);
    std::mt19937 random(5);
    std::normal_distribution<float> element;
    Floats table(kEntries * kColumns), other(7);
    for (float& w : table) w = element(random);
    OptimizerRun dense(optimizer, {{"e/table", {kEntries, kColumns}, table}, {"b", {7}, other}});
    std::vector<std::unique_ptr<OptimizerRun>> listed;
    for (const int threads : {1, 2}) {
      listed.push_back(std::make_unique<OptimizerRun>(
          optimizer,
          std::vector<TestWeight>{{"e/table", {kEntries, kColumns}, table, kListed},
                                  {"b", {7}, other}},
          threads));
    }
    for (int t = 0; t < 6; ++t) {
      const RowsAndDense gradient = draw(random);
      for (float& g : other) g = element(random);
      dense.give({gradient.dense, {other, {}}});
      dense.run();
      for (const auto& run : listed) {
        run->give({gradient.rows, {other, {}}});
        run->run(t < 1 ? Program::Mode::checked : Program::Mode::plain);
      }
    }
    const OptimizerSettings& settings = optimizer->common();
    expect_near(state(*listed[0]), state(dense), settings.clipnorm || settings.global_clipnorm);
    EXPECT_EQ(state(*listed[1]), state(*listed[0])) << "two threads";
  }
}

TEST(RowGradient, LeavesRowsThatNeverHadOneUntouched) {
  OptimizerRun run(Adam(), {{"t", {5, 2}, Floats(10, 1), 2}});
  run.step({{{1, 1}, {3}}});
  run.step({{{1, 1, 2, 2}, {0, 3}}});
  const auto touched = run.slots(Slot::Role::touched)[0].as<uint8_t>();
  EXPECT_EQ(std::vector<uint8_t>(touched.begin(), touched.end()),
            (std::vector<uint8_t>{1, 0, 0, 1, 0}));
  EXPECT_EQ(run.weight_values(0)[2], 1);
}

// Rows that are in the batch move as Keras's would, the others not at all.
TEST(RowGradient, OfALazyAdamMovesTheListedRowsOnly) {
  OptimizerRun lazy(AdamW({.lazy = true}), {{"t", {5, 2}, Floats(10, 1), 2}});
  OptimizerRun dense(AdamW(), {{"t", {5, 2}, Floats(10, 1)}});
  EXPECT_TRUE(lazy.slots(Slot::Role::touched).empty());
  const Floats before = lazy.weight_values(0);
  lazy.step({{{1, 2}, {3}}});
  dense.step({{{0, 0, 0, 0, 0, 0, 1, 2, 0, 0}, {}}});
  const Floats first = lazy.weight_values(0);
  for (size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(first[i], i / 2 == 3 ? dense.weight_values(0)[i] : before[i]) << i;
  }
  lazy.step({{{1, 1}, {0}}});
  EXPECT_EQ(lazy.weight_values(0)[6], first[6]);
  EXPECT_NE(lazy.weight_values(0)[0], first[0]);
}

}  // namespace
}  // namespace snug::testing

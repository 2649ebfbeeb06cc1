#include "snug/ops/update_bound.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

namespace snug::ops {
namespace {

using Kind = UpdateRule::Kind;

std::vector<UpdateRule> all_rules() {
  std::vector<UpdateRule> rules;
  for (const Kind kind : {Kind::sgd, Kind::adam, Kind::rms_prop, Kind::adagrad, Kind::adadelta,
                          Kind::adamax, Kind::nadam, Kind::lion}) {
    rules.push_back({.kind = kind});
  }
  rules.push_back({.kind = Kind::sgd, .momentum = 0.9});
  rules.push_back({.kind = Kind::sgd, .momentum = 0.9, .nesterov = true});
  rules.push_back({.kind = Kind::adam, .amsgrad = true});
  rules.push_back({.kind = Kind::rms_prop, .momentum = 0.5});
  rules.push_back({.kind = Kind::rms_prop, .momentum = 0.5, .centered = true});
  return rules;
}

// Weights of one rule, updated by gradients of any size for a while.
struct Trajectory {
  static constexpr int64_t kSize = 8;
  std::mt19937_64 random;
  UpdateRule rule;
  std::vector<std::vector<float>> arrays;  // Weights, then slots.
  float product = 1;

  explicit Trajectory(const UpdateRule& rule, uint64_t seed) : random(seed), rule(rule) {
    arrays.assign(1 + rule.slots(), std::vector<float>(kSize));
  }

  double largest(size_t first, size_t last) const {
    float most = 0;
    for (size_t k = first; k < last; ++k) {
      for (const float x : arrays[k]) most = std::max(most, std::abs(x));
    }
    return most;
  }

  // Whether the bound let it pass; then all that was written is finite.
  bool step(int64_t iterations) {
    const auto power = static_cast<double>(random() % 50) - 20;
    const auto rate = static_cast<float>(std::pow(10.0, static_cast<double>(random() % 7) - 4));
    std::vector<float> gradient(kSize);
    float most = 0;
    for (float& g : gradient) {
      g = static_cast<float>((static_cast<double>(random() % 2001) / 1000 - 1) *
                             std::pow(10.0, power));
      most = std::max(most, std::abs(g));
    }
    const double bound = update_bound(
        rule,
        {.learning_rate = rate,
         .iterations = iterations,
         .product = product,
         .clip_value = INFINITY},
        {.gradient = most, .weight = largest(0, 1), .slot = largest(1, arrays.size())});
    if (bound > kSafeUpdate) return false;
    const BoundRule bound_rule(rule, rate, iterations, product);
    product = bound_rule.product();
    float* slots[UpdateRule::kMostSlots] = {};
    for (size_t k = 1; k < arrays.size(); ++k) slots[k - 1] = arrays[k].data();
    const kernels::UpdateReach reach =
        bound_rule.run({.learning_rate = rate}, arrays[0].data(), gradient.data(), slots, kSize);
    EXPECT_TRUE(std::isfinite(reach.weight) && std::isfinite(reach.slot))
        << "kind " << static_cast<int>(rule.kind) << " step " << iterations;
    EXPECT_LE(std::max(reach.weight, reach.slot), bound * 1.001);
    return true;
  }
};

TEST(UpdateBound, WhatPassesStaysFinite) {
  for (const UpdateRule& rule : all_rules()) {
    int passed = 0;
    for (uint64_t seed = 0; seed < 200; ++seed) {
      Trajectory trajectory(rule, seed);
      for (int64_t i = 0; i < 20 && trajectory.step(i); ++i) ++passed;
    }
    // Of a centered rule little can be said beforehand.
    EXPECT_GT(passed, rule.centered ? 20 : 200)
        << "kind " << static_cast<int>(rule.kind) << " is refused too often";
  }
}

TEST(UpdateBound, OrdinaryUpdatesPass) {
  for (const UpdateRule& rule : all_rules()) {
    if (rule.centered) continue;
    const double bound = update_bound(
        rule, {.learning_rate = 0.001, .iterations = 5, .product = 0.5, .clip_value = INFINITY},
        {.gradient = 1e3, .weight = 10, .slot = 1e6});
    EXPECT_LT(bound, kSafeUpdate) << static_cast<int>(rule.kind);
  }
}

TEST(UpdateBound, NaNIsSeen) {
  const UpdateScalars scalars{
      .learning_rate = 0.001, .iterations = 5, .product = 0.5, .clip_value = 1};
  for (const UpdateRule& rule : all_rules()) {
    SCOPED_TRACE(static_cast<int>(rule.kind));
    EXPECT_GT(update_bound(rule, scalars, {.gradient = 1, .weight = NAN}), kSafeUpdate);
    EXPECT_GT(update_bound(rule, scalars, {.gradient = 1, .slot = NAN}), kSafeUpdate);
    EXPECT_GT(update_bound(rule, scalars, {.gradient = NAN}), kSafeUpdate);
  }
  EXPECT_GT(
      update_bound({.kind = Kind::nadam}, {.learning_rate = 0.001, .product = NAN, .clip_value = 1},
                   {.gradient = 1, .weight = 1}),
      kSafeUpdate);
}

// The update computes in float32, where such settings are 0 and 1.
TEST(UpdateBound, SettingsThatRoundingSpoilsAreSeen) {
  const UpdateScalars scalars{.learning_rate = 0.001, .clip_value = INFINITY};
  const UpdateReaches reaches{.gradient = 0.01, .weight = 1};
  for (const Kind kind :
       {Kind::adam, Kind::rms_prop, Kind::adagrad, Kind::adadelta, Kind::adamax, Kind::nadam}) {
    EXPECT_GT(update_bound({.kind = kind, .epsilon = 1e-40}, scalars, reaches), kSafeUpdate)
        << static_cast<int>(kind);
  }
  for (const Kind kind : {Kind::adam, Kind::adamax})
    EXPECT_GT(update_bound({.kind = kind, .beta_1 = 1 - 1e-8}, scalars, reaches), kSafeUpdate);
  EXPECT_GT(update_bound({.kind = Kind::nadam, .beta_2 = 1 - 1e-8}, scalars, reaches), kSafeUpdate);
}

TEST(UpdateBound, OverflowsAreSeen) {
  const UpdateScalars scalars{.learning_rate = 0.001, .clip_value = INFINITY};
  EXPECT_GT(update_bound({.kind = Kind::adam}, scalars, {.gradient = 2e19}), kSafeUpdate);
  EXPECT_GT(update_bound({.kind = Kind::sgd}, {.learning_rate = 1e20, .clip_value = INFINITY},
                         {.gradient = 1e19}),
            kSafeUpdate);
  EXPECT_GT(update_bound({.kind = Kind::sgd}, scalars, {.gradient = 1, .weight = 3e38}),
            kSafeUpdate);
  // Clipped gradients do no harm.
  EXPECT_LT(update_bound({.kind = Kind::adam}, {.learning_rate = 0.001, .clip_value = 1},
                         {.gradient = 2e19}),
            kSafeUpdate);
  // What nothing is known of is not passed.
  EXPECT_GT(update_bound({.kind = Kind::adam, .epsilon = 0}, scalars, {}), kSafeUpdate);
}

}  // namespace
}  // namespace snug::ops

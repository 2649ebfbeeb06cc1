#include "snug/ops/update_rule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace snug::ops {
namespace {

using Kind = UpdateRule::Kind;

const Kind kKinds[] = {Kind::sgd,      Kind::adam,   Kind::rms_prop, Kind::adagrad,
                       Kind::adadelta, Kind::adamax, Kind::nadam,    Kind::lion};

TEST(UpdateRule, CountsItsSlots) {
  EXPECT_EQ((UpdateRule{.kind = Kind::sgd}.slots()), 0);
  EXPECT_EQ((UpdateRule{.kind = Kind::sgd, .momentum = 0.9}.slots()), 1);
  EXPECT_EQ((UpdateRule{.kind = Kind::adam}.slots()), 2);
  EXPECT_EQ((UpdateRule{.kind = Kind::adam, .amsgrad = true}.slots()), 3);
  EXPECT_EQ((UpdateRule{.kind = Kind::rms_prop}.slots()), 1);
  EXPECT_EQ((UpdateRule{.kind = Kind::rms_prop, .momentum = 0.5, .centered = true}.slots()), 3);
  EXPECT_EQ((UpdateRule{.kind = Kind::adagrad}.slots()), 1);
  EXPECT_EQ((UpdateRule{.kind = Kind::adadelta}.slots()), 2);
  EXPECT_EQ((UpdateRule{.kind = Kind::adamax}.slots()), 2);
  EXPECT_EQ((UpdateRule{.kind = Kind::nadam}.slots()), 2);
  EXPECT_EQ((UpdateRule{.kind = Kind::lion}.slots()), 1);
}

// One element without a gradient, from a slot value.
struct Element {
  float w = 0.3f;
  float slots[3] = {};
};

Element after(const UpdateRule& rule, float slot) {
  Element e;
  for (float& s : e.slots) s = slot;
  const float zero = 0;
  float* const slots[] = {&e.slots[0], &e.slots[1], rule.slots() > 2 ? &e.slots[2] : nullptr};
  const BoundRule bound(rule, 0.1f, 3);
  bound.run({.learning_rate = 0.1f}, &e.w, &zero, slots, 1);
  return e;
}

std::vector<UpdateRule> all_rules() {
  std::vector<UpdateRule> rules;
  for (const Kind kind : kKinds) {
    for (const double momentum : {0.0, 0.9}) {
      for (const double epsilon : {1e-7, 0.0}) {
        for (const bool flag : {false, true}) {
          rules.push_back({.kind = kind,
                           .momentum = momentum,
                           .nesterov = flag,
                           .centered = flag,
                           .epsilon = epsilon,
                           .amsgrad = flag});
        }
      }
    }
  }
  return rules;
}

// What rests() and rests_at_zero() promise is what the loops do.
TEST(UpdateRule, RestsWhereItSays) {
  for (const UpdateRule& rule : all_rules()) {
    SCOPED_TRACE(static_cast<int>(rule.kind));
    const Element from_zero = after(rule, 0), from_one = after(rule, 1);
    bool rests_at_zero = from_zero.w == 0.3f, rests = from_one.w == 0.3f;
    for (int k = 0; k < rule.slots(); ++k) {
      rests_at_zero = rests_at_zero && from_zero.slots[k] == 0;
      rests = rests && from_one.slots[k] == 1;
    }
    EXPECT_TRUE(!rule.rests_at_zero() || rests_at_zero);
    EXPECT_TRUE(!rule.rests() || rests);
    EXPECT_FALSE(rule.kind == Kind::adam && rests);
  }
}

TEST(UpdateRule, CorrectsTheBiasOfTheFirstUpdates) {
  UpdateRule rule{.kind = Kind::adam};
  float w = 1, m = 0, v = 0;
  float* const slots[] = {&m, &v, nullptr};
  const float g = 0.25f;
  BoundRule(rule, 0.5f, 0).run({.learning_rate = 0.5f}, &w, &g, slots, 1);
  EXPECT_NEAR(w, 0.5f, 1e-5);
}

TEST(UpdateRule, NadamKeepsItsProduct) {
  const UpdateRule rule{.kind = Kind::nadam};
  EXPECT_NEAR(BoundRule(rule, 0.1f, 0, 1).product(), 0.9 * (1 - 0.5 * 0.96), 1e-7);
  EXPECT_NEAR(BoundRule(rule, 0.1f, 1, 0.5f).product(), 0.5 * 0.9 * (1 - 0.5 * 0.96 * 0.96), 1e-7);
  EXPECT_EQ(BoundRule({.kind = Kind::adam}, 0.1f, 1, 0.5f).product(), 0.5f);
}

}  // namespace
}  // namespace snug::ops

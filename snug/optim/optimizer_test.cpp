#include "snug/optim/optimizer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "snug/testing/check_op.h"

namespace snug {
namespace {

using testing::error_of;

TEST(Optimizer, GoesByKerasNames) {
  for (const char* name :
       {"SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "Adamax", "Nadam", "Lion"}) {
    EXPECT_EQ(make_optimizer(name)->class_name(), name);
  }
  EXPECT_EQ(make_optimizer("rmsprop")->class_name(), "RMSprop");
  const Optimizer short_form = "adamw";
  EXPECT_EQ(short_form->common().weight_decay, 0.004);
  EXPECT_EQ(short_form->common().name, "adam_w");
  EXPECT_EQ(error_of([] { make_optimizer("adm"); }),
            "there is no optimizer \"adm\"; did you mean \"adam\"?");
}

TEST(Optimizer, TakesOptions) {
  const Optimizer sgd = SGD({.learning_rate = 0.1, .momentum = 0.9, .nesterov = true});
  EXPECT_EQ(sgd->learning_rate_at(7), 0.1f);
  EXPECT_EQ(sgd->slots({{"w", {DType::float32, {2}}}}).size(), 2u);
  const Optimizer adam =
      Adam({.learning_rate = ExponentialDecay(1, 1, 0.5), .clipnorm = 1, .name = "mine"});
  EXPECT_EQ(adam->learning_rate_at(3), 0.125f);
  EXPECT_EQ(adam->common().name, "mine");
}

TEST(Optimizer, IsSharedByItsCopies) {
  const Optimizer adam = Adam();
  const Optimizer copy = adam;
  copy->set_learning_rate(0.5);
  EXPECT_EQ(adam->learning_rate_at(0), 0.5f);
}

TEST(Optimizer, SaysWhatIsWrongWithItsSettings) {
  EXPECT_EQ(error_of([] { Adam({.clipnorm = 1, .global_clipnorm = 2}); }),
            "Adam: more than one of clipnorm, clipvalue and global_clipnorm is given; give at most "
            "one");
  EXPECT_EQ(error_of([] { Adam({.clipvalue = 0}); }), "Adam: clipvalue is 0; it must be above 0");
  EXPECT_EQ(error_of([] { Adam({.clipnorm = -1}); }), "Adam: clipnorm is -1; it must be above 0");
  EXPECT_EQ(error_of([] { Lion({.global_clipnorm = NAN}); }),
            "Lion: global_clipnorm is nan; it must be above 0");
  EXPECT_EQ(error_of([] { Adam({.learning_rate = -1}); }),
            "Adam: learning_rate is -1, which would raise the loss; it must be 0 or more");
  EXPECT_EQ(error_of([] { Adam({.learning_rate = ExponentialDecay(-1, 10, 0.5)}); }),
            "Adam: learning_rate is -1, which would raise the loss; it must be 0 or more");
  EXPECT_EQ(error_of([] { AdamW({.weight_decay = -0.5}); }),
            "AdamW: weight_decay is -0.5, by which weights would grow; it must be 0 or more");
  EXPECT_EQ(error_of([] { Adam({.learning_rate = NAN}); }),
            "Adam: learning_rate is nan; it must be a number");
  EXPECT_EQ(error_of([] { Nadam({.use_ema = true, .ema_momentum = 1.5}); }),
            "Nadam: ema_momentum is 1.5; it must be within [0, 1]");
  EXPECT_EQ(error_of([] { Adamax({.ema_overwrite_frequency = 0}); }),
            "Adamax: ema_overwrite_frequency is 0; give 1 or more, or leave it out");
  EXPECT_EQ(error_of([] { SGD({.gradient_accumulation_steps = 4}); }),
            "SGD: gradient_accumulation_steps is 4; Snug accumulates by itself where memory is "
            "short: give the larger batch_size instead");
  EXPECT_EQ(error_of([] { SGD({.loss_scale_factor = 8}); }),
            "SGD: loss_scale_factor is 8; losses are not scaled in float32: leave it out");
  EXPECT_EQ(error_of([] { AdamW({.exclude_from_weight_decay = {"("}}); }),
            "AdamW: exclude_from_weight_decay has \"(\", which is no regular expression; give a "
            "part of a weight's name, such as \"bias\"");
  EXPECT_EQ(error_of([] { SGD({.momentum = 2}); }), "SGD: momentum is 2; it must be within [0, 1]");
  EXPECT_EQ(error_of([] { Adagrad({.initial_accumulator_value = -1}); }),
            "Adagrad: initial_accumulator_value is -1; it must not be below 0");
  EXPECT_EQ(error_of([] { Lion({.beta_1 = 0}); }),
            "Lion: beta_1 is 0; it must be above 0 and at most 1");
}

TEST(Optimizer, RefusesNumbersThatNoRuleIsMeantFor) {
  EXPECT_EQ(error_of([] { Adam({.beta_1 = 1}); }),
            "Adam: beta_1 is 1; it must be from 0 up to, but not, 1");
  EXPECT_EQ(error_of([] { AdamW({.beta_2 = 1.5}); }),
            "AdamW: beta_2 is 1.5; it must be from 0 up to, but not, 1");
  EXPECT_EQ(error_of([] { Adamax({.beta_1 = -0.5}); }),
            "Adamax: beta_1 is -0.5; it must be from 0 up to, but not, 1");
  EXPECT_EQ(error_of([] { Nadam({.beta_2 = NAN}); }),
            "Nadam: beta_2 is nan; it must be from 0 up to, but not, 1");
  EXPECT_EQ(error_of([] { Lion({.beta_2 = 2}); }), "Lion: beta_2 is 2; it must be within [0, 1]");
  EXPECT_EQ(error_of([] { RMSprop({.rho = 3}); }), "RMSprop: rho is 3; it must be within [0, 1]");
  EXPECT_EQ(error_of([] { RMSprop({.momentum = NAN}); }),
            "RMSprop: momentum is nan; it must be within [0, 1]");
  EXPECT_EQ(error_of([] { Adadelta({.rho = -1}); }),
            "Adadelta: rho is -1; it must be within [0, 1]");
  EXPECT_EQ(error_of([] { Adagrad({.epsilon = -1}); }),
            "Adagrad: epsilon is -1; it must be 0 or more");
  EXPECT_EQ(error_of([] { Adam({.epsilon = INFINITY}); }),
            "Adam: epsilon is inf; it must be 0 or more");
  EXPECT_EQ(error_of([] { SGD({.weight_decay = NAN}); }),
            "SGD: weight_decay is nan; it must be a number");
}

TEST(Optimizer, KeepsItsSchedule) {
  const Optimizer adam = Adam({.learning_rate = CosineDecay(0.1, 10)});
  EXPECT_EQ(error_of([&] { adam->set_learning_rate(0.5); }),
            "Adam: its learning rate is a CosineDecay, which no number can replace; compile with a "
            "number to set the rate while training");
  adam->set_learning_rate(ExponentialDecay(1, 1, 0.5));
  EXPECT_EQ(adam->learning_rate_at(1), 0.5f);
}

}  // namespace
}  // namespace snug

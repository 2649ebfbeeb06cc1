#include "snug/train/divergence.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "snug/train/fit_testing.h"
#include "snug/train/state_bytes.h"

namespace snug {
namespace {

using testing::LogText;

Divergence two_layers() {
  return Divergence({{"first/kernel", true}, {"second/kernel", true}}, 1e4);
}

void run_epoch(Divergence& divergence, double loss, std::vector<double> squares, int steps = 30) {
  divergence.begin_epoch();
  for (int i = 0; i < steps; ++i) divergence.step(loss, 1, squares);
}

TEST(Divergence, StopsAfterAnEpochFarBeyondAConstantPrediction) {
  Divergence divergence = two_layers();
  divergence.set_reference(2);
  run_epoch(divergence, 19'000, {1, 1});
  EXPECT_FALSE(divergence.end_epoch(0));
  run_epoch(divergence, 21'000, {1, 1});
  const auto stop = divergence.end_epoch(1);
  ASSERT_TRUE(stop);
  EXPECT_NE(stop->find("epoch 2"), std::string::npos);
  EXPECT_NE(stop->find("learning rate"), std::string::npos);
  // One good step in the epoch is enough to go on.
  run_epoch(divergence, 21'000, {1, 1});
  divergence.step(10, 1, std::vector<double>{1, 1});
  EXPECT_FALSE(divergence.end_epoch(2));
}

TEST(Divergence, WarnsOfAJumpOnceAnEpoch) {
  const LogText log;
  Divergence divergence = two_layers();
  run_epoch(divergence, 1, {1, 1});
  divergence.step(5'000, 1, std::vector<double>{1, 1});
  divergence.step(5'000, 1, std::vector<double>{1, 1});
  EXPECT_EQ(log.messages.find("the loss is 5e+03"), log.messages.rfind("the loss is 5e+03"));
  EXPECT_NE(log.messages.find("the loss is 5e+03"), std::string::npos) << log.messages;
  divergence.begin_epoch();
  divergence.step(1, 1e5, std::vector<double>{1, 1});
  EXPECT_NE(log.messages.find("the gradient norm is 1e+05"), std::string::npos) << log.messages;
}

TEST(Divergence, WarnsOfALayerThatDoesNotLearn) {
  const LogText log;
  Divergence divergence = two_layers();
  run_epoch(divergence, 1, {0, 1});
  EXPECT_FALSE(divergence.end_epoch(0));
  EXPECT_NE(log.messages.find("first/kernel learns nothing: in epoch 1 its gradients were zero"),
            std::string::npos)
      << log.messages;
  run_epoch(divergence, 1, {0, 1e-30});
  const size_t length = log.messages.size();
  EXPECT_FALSE(divergence.end_epoch(1));
  EXPECT_EQ(log.messages.size(), length) << "warned twice";
}

TEST(Divergence, WarnsWhereNothingLearns) {
  const LogText log;
  Divergence divergence = two_layers();
  run_epoch(divergence, 0, {0, 0});
  EXPECT_FALSE(divergence.end_epoch(0));
  EXPECT_EQ(log.messages, "") << "a loss of 0 has no gradients";
  for (int epoch = 1; epoch < 3; ++epoch) {
    run_epoch(divergence, 0.5, {0, 0});
    EXPECT_FALSE(divergence.end_epoch(epoch));
  }
  const std::string warning = "in epoch 2 all gradients were zero";
  EXPECT_NE(log.messages.find(warning), std::string::npos) << log.messages;
  EXPECT_EQ(log.messages.find("all gradients"), log.messages.rfind("all gradients"));
}

TEST(Divergence, WarnsOfALossThatStaysWorseThanAConstant) {
  const LogText log;
  Divergence divergence = two_layers();
  divergence.set_reference(1);
  for (int epoch = 0; epoch < 4; ++epoch) {
    run_epoch(divergence, 3, {1, 1});
    EXPECT_FALSE(divergence.end_epoch(epoch));
  }
  EXPECT_EQ(log.messages, "");
  run_epoch(divergence, 3, {1, 1});
  EXPECT_FALSE(divergence.end_epoch(4));
  EXPECT_NE(log.messages.find("constant prediction"), std::string::npos);
}

TEST(Divergence, WarnsOfAShortRunThatEndsWorseThanAConstant) {
  const LogText log;
  Divergence divergence = two_layers();
  divergence.set_reference(1);
  run_epoch(divergence, 3, {1, 1});
  EXPECT_FALSE(divergence.end_epoch(0));
  run_epoch(divergence, 1.9, {1, 1});
  EXPECT_FALSE(divergence.end_epoch(1));
  divergence.end_run();
  EXPECT_EQ(log.messages, "");
  run_epoch(divergence, 12, {1, 1});
  EXPECT_FALSE(divergence.end_epoch(2));
  divergence.end_run();
  EXPECT_NE(log.messages.find("a loss of 12, 12 times the 1 of a constant"), std::string::npos)
      << log.messages;
}

// Losses as healthy runs have them: noisy, falling by decades, spiky, warming up.
TEST(Divergence, HealthyCurvesRaiseNoAlarm) {
  const LogText log;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal;
    Divergence divergence = two_layers();
    divergence.set_reference(2.3);
    int64_t step = 0;
    for (int epoch = 0; epoch < 10; ++epoch) {
      divergence.begin_epoch();
      for (int i = 0; i < 100; ++i, ++step) {
        const auto t = static_cast<double>(step);
        double loss = 2.5 * std::exp(-t / (100 + 50 * static_cast<double>(seed))) + 1e-3;
        loss *= std::exp((seed % 4) * 0.3 * normal(random));
        if (seed % 3 == 0 && random() % 50 == 0) loss *= 50;
        const double warm = seed % 2 == 0 ? std::min(1.0, t / 100) : 1;
        divergence.step(loss, warm * loss * std::exp(0.5 * normal(random)),
                        std::vector<double>{warm * warm * loss, 1e-6 * loss});
      }
      EXPECT_FALSE(divergence.end_epoch(epoch));
    }
    EXPECT_EQ(log.messages, "") << "seed " << seed;
  }
}

// A checkpoint of the same layers of which others were frozen: its numbers are of other weights.
TEST(Divergence, HasNumbersOfItsOwnWeightsAlone) {
  const auto state_of = [](Divergence& divergence) {
    StateWriter writer;
    divergence.state(writer);
    return writer.take();
  };
  Divergence one({{"only/kernel", true}}, 1e4), two = two_layers();
  const size_t bytes = state_of(two).size();
  run_epoch(one, 1, {1});
  StateReader reader(state_of(one), "test");
  two.state(reader);
  EXPECT_EQ(state_of(two).size(), bytes);
  EXPECT_EQ(two.steps(), 30);
}

}  // namespace
}  // namespace snug

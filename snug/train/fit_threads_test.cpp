// Two fits in two threads of one program, each on two threads of its own: neither sees the other.
#include <gtest/gtest.h>

#include <thread>

#include "snug/nn/convolution.h"
#include "snug/nn/dropout.h"
#include "snug/nn/normalization.h"
#include "snug/nn/pooling.h"
#include "snug/nn/shape_layers.h"
#include "snug/train/fit_testing.h"

namespace snug::testing {
namespace {

struct Fitted {
  std::vector<double> loss;
  std::vector<std::vector<float>> weights;
  std::vector<float> predicted;
  friend bool operator==(const Fitted&, const Fitted&) = default;
};

Fitted fitted(uint64_t seed) {
  const Rows rows(70, 64, seed);
  Sequential model({Input({64}), Reshape({8, 8, 1}), Conv2D(4, 3), BatchNormalization(),
                    MaxPooling2D(), Flatten(), Dropout(0.3), Dense(40, "relu"), Dense(1)});
  model.compile({.optimizer = Adam(), .loss = "mse", .metrics = {"mae"}});
  Fitted result;
  const FitOptions options{.batch_size = 16,
                           .epochs = 3,
                           .validation_data = rows.regression(0, 20),
                           .verbose = 0,
                           .threads = 2};
  result.loss = model.fit(rows.regression(), options).history.at("loss");
  result.weights = model.get_weights();
  result.predicted = model.predict(data::arrays(rows.inputs()))[0];
  return result;
}

TEST(Threads, TwoFitsAtOnceGiveWhatEachGivesAlone) {
  const std::vector<Fitted> alone = {fitted(1), fitted(2)};
  std::vector<Fitted> together(2);
  std::vector<std::thread> threads;
  for (size_t i = 0; i < 2; ++i) threads.emplace_back([&, i] { together[i] = fitted(i + 1); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(together[0] == alone[0]);
  EXPECT_TRUE(together[1] == alone[1]);
}

}  // namespace
}  // namespace snug::testing

// Seed 002, third snippet: Adam with a learning rate of 100. There nothing is ever thrown, and the
// weights are lost. Here the run ends by name, with a rate that is sane the same model learns, and
// clipping or a schedule is one word.
#include "examples/seeds/seed.h"

using namespace seed;

namespace {

Sequential wide_model(int64_t units) {
  return Sequential({Input({10}), Dense(units, "relu"), Dense(units, "relu"), Dense(1)});
}

bool all_finite(Sequential& model) {
  for (const auto& weights : model.get_weights()) {
    for (const float weight : weights) {
      if (!std::isfinite(weight)) return false;
    }
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const int64_t units = is_small(argc, argv) ? 100 : 1000;
  const std::vector<float> x = random_numbers<float>(100 * 10), y = random_numbers<float>(100, 9);
  const SourcePtr data = data::arrays(Array(x.data(), {100, 10}), Array(y.data(), {100, 1}));

  Sequential wild = wide_model(units);
  wild.compile({.optimizer = Adam({.learning_rate = 100}), .loss = "mse"});
  try {
    const History history = wild.fit(data, {.epochs = 10, .verbose = 2, .memory = 64_MiB});
    fmt::print("it diverged without overflow: a loss of {}\n", history.history.at("loss").back());
  } catch (const NumericsError& error) {
    fmt::print("stopped: {}\n", error.what());
  }
  promise(all_finite(wild), "weights are finite, whatever the rate");

  Sequential tame = wide_model(units);
  tame.compile({.optimizer = Adam({.learning_rate = 1e-3, .clipnorm = 1}), .loss = "mse"});
  const History history = tame.fit(data, {.epochs = 10, .verbose = 2, .memory = 64_MiB});
  promise(history.history.at("loss").back() < history.history.at("loss").front(),
          "with a sane rate it learns");
}

// Microseconds a call of train_on_batch, predict and their kin, which users make in loops of their
// own, beside a step of fit on the same batch.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>

#include "bench/arguments.h"
#include "snug/snug.h"

namespace snug::bench {
namespace {

constexpr const char* kHelp =
    R"(usage: calls_bench [options]     W1's small MLP and a small CNN, batches of 32 rows

  --threads N    default: all cores
  --seconds N    of each call; default 1

Medians and least of blocks of 10 calls. "fit" is a step of a long epoch.
)";

using Clock = std::chrono::steady_clock;

struct Settings {
  int threads = 0;
  double seconds = 1;
};

struct Case {
  const char* name;
  Shape row;
  std::vector<Layer> layers;
};

std::vector<Case> cases() {
  return {
      {"W1", {100}, {Input({100}), Dense(64, "relu"), Dense(1, "sigmoid")}},
      {"CNN",
       {16, 16, 1},
       {Input({16, 16, 1}), Conv2D(16, {3, 3}, {.activation = "relu"}), MaxPooling2D(),
        Conv2D(32, {3, 3}, {.activation = "relu"}), Flatten(), Dropout(0.2), Dense(1, "sigmoid")}}};
}

double microseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

void time_calls(const char* name, const Settings& settings, const std::function<void()>& call,
                double steps = 1) {
  constexpr int kBlock = 10;
  std::vector<double> blocks;
  call();
  for (const auto begin = Clock::now();
       blocks.empty() || microseconds_since(begin) < 1e6 * settings.seconds;) {
    const auto start = Clock::now();
    for (int i = 0; i < kBlock; ++i) call();
    blocks.push_back(microseconds_since(start) / kBlock / steps);
  }
  std::ranges::sort(blocks);
  std::printf("  %-20s %10.1f us (least %.1f)\n", name, blocks[blocks.size() / 2], blocks[0]);
  std::fflush(stdout);
}

void run_case(const Case& one, const Settings& settings) {
  constexpr int64_t kRows = 32, kLong = 32 * 500;
  std::printf("%s\n", one.name);
  std::vector<float> x(kLong * one.row.size()), y(kLong);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i * 7 % 31) / 31 - 0.5f;
  for (size_t i = 0; i < y.size(); ++i) y[i] = static_cast<float>(i % 2);
  const auto inputs = [&](int64_t rows) {
    Shape shape{rows};
    for (const Extent extent : one.row.extents()) shape.push_back(extent);
    return Array(x.data(), shape);
  };
  const auto data = [&](int64_t rows) {
    return data::arrays(inputs(rows), Array(y.data(), {rows, 1}));
  };
  Sequential model(one.layers);
  model.compile({.optimizer = Adam(), .loss = "binary_crossentropy"});
  const FitOptions fit{.verbose = 0, .threads = settings.threads};
  const EvaluateOptions forward{.threads = settings.threads};
  time_calls(
      "fit", settings, [&] { model.fit(data(kLong), fit); }, kLong / kRows);
  time_calls("train_on_batch", settings, [&] { model.train_on_batch(data(kRows), fit); });
  time_calls("test_on_batch", settings, [&] { model.test_on_batch(data(kRows), forward); });
  time_calls("predict, 1 row", settings, [&] { model.predict(data::arrays(inputs(1)), forward); });
  time_calls("predict, 32 rows", settings,
             [&] { model.predict(data::arrays(inputs(kRows)), forward); });
  time_calls("train, then predict", settings, [&] {
    model.train_on_batch(data(kRows), fit);
    model.predict(data::arrays(inputs(1)), forward);
  });
}

void run(int argc, char** argv) {
  Settings settings;
  Arguments()
      .value("--threads", settings.threads)
      .value("--seconds", settings.seconds)
      .parse(argc, argv);
  for (const Case& one : cases()) run_case(one, settings);
}

}  // namespace
}  // namespace snug::bench

int main(int argc, char** argv) {
  return snug::bench::run_bench("calls_bench", snug::bench::kHelp, argc, argv, snug::bench::run);
}

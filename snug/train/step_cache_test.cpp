#include "snug/train/step_cache.h"

#include <gtest/gtest.h>
#include <omp.h>
#include <sys/resource.h>

#include <atomic>
#include <cmath>
#include <functional>
#include <limits>
#include <thread>

#include "snug/base/memory.h"
#include "snug/base/threads.h"
#include "snug/nn/convolution.h"
#include "snug/nn/dropout.h"
#include "snug/nn/metrics.h"
#include "snug/nn/operators.h"
#include "snug/nn/preprocessing.h"
#include "snug/nn/shape_layers.h"
#include "snug/testing/sanitized.h"
#include "snug/train/callbacks.h"
#include "snug/train/fit_testing.h"
#include "snug/train/step_key.h"

namespace snug::testing {
namespace {

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

void expect_contains(const std::string& text, std::string_view part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

Sequential noisy_model(int64_t features = 8) {
  Sequential model({Input({features}), Dense(16, "relu"), Dropout(0.5), Dense(1)});
  model.compile({.optimizer = Adam(), .loss = "mse", .metrics = {"mae"}});
  return model;
}

int64_t hits_of(const std::function<void()>& calls) {
  const int64_t before = step_cache().hits();
  calls();
  return step_cache().hits() - before;
}

// Several calls of all kinds; with `anew`, nothing is kept between them.
std::vector<double> results_of_calls(bool anew, const FitOptions& options = {}) {
  const Rows rows(40, 8);
  Sequential model = noisy_model();
  std::vector<double> results;
  for (int i = 0; i < 4; ++i) {
    const auto forget = [&] {
      if (anew) step_cache().drop_all();
    };
    for (const auto& [name, value] : model.train_on_batch(rows.regression(i, 32), options))
      results.push_back(value);
    forget();
    const auto predicted = model.predict(data::arrays(rows.inputs(i, 5)));
    results.insert(results.end(), predicted[0].begin(), predicted[0].end());
    forget();
    for (const auto& [name, value] : model.evaluate(rows.regression(), {.batch_size = 16}))
      results.push_back(value);
    forget();
  }
  for (const auto& weight : model.get_weights())
    results.insert(results.end(), weight.begin(), weight.end());
  return results;
}

TEST(StepCache, TheSameBits) {
  int64_t hits = 0;
  std::vector<double> kept;
  hits = hits_of([&] { kept = results_of_calls(false); });
  EXPECT_EQ(hits, 9);  // Of twelve calls of three kinds.
  EXPECT_EQ(hits_of([&] { EXPECT_EQ(results_of_calls(true), kept); }), 0);
  const FitOptions small{.memory = 64_MiB, .threads = 1, .reproducible = true};
  EXPECT_EQ(results_of_calls(false, small), results_of_calls(true, small));
}

TEST(StepCache, MasksDifferFromCallToCall) {
  const Rows rows(32, 8);
  Sequential model = noisy_model();
  model.compile({.optimizer = SGD({.learning_rate = 0}), .loss = "mse"});
  const double first = model.train_on_batch(rows.regression()).at("loss");
  const double second = model.train_on_batch(rows.regression()).at("loss");
  EXPECT_NE(first, second);
}

// Each asks for a step of its own, and for that again.
TEST(StepCache, OfOtherCallsIsNotTheSame) {
  const Rows rows(40, 8);
  Sequential model = noisy_model();
  const auto train = [&](int64_t count, const FitOptions& options = {}) {
    model.train_on_batch(rows.regression(0, count), options);
  };
  const std::vector<std::function<void()>> calls = {
      [&] { train(32); },
      [&] { train(31); },
      [&] { train(32, {.threads = 1}); },
      [&] { train(32, {.reproducible = true}); },
      [&] { train(32, {.guard = {.policy = GuardOptions::Policy::off}}); },
      [&] { model.test_on_batch(rows.regression()); },
      [&] { model.evaluate(rows.regression(), {.batch_size = 7}); },
      [&] { model.predict(rows.regression(), {.batch_size = 7}); },
      [&] { model.predict(data::arrays(rows.inputs())); },
      [&] {
        model.train_on_batch(data::arrays(
            {.x = {rows.inputs()}, .y = {Array(rows.y)}, .sample_weight = Array(rows.y)}));
      },
  };
  for (const auto& call : calls) EXPECT_EQ(hits_of(call), 0);
  for (const auto& call : calls) EXPECT_EQ(hits_of(call), 1);
}

TEST(StepCache, WhatWouldPlanAnotherStepIsSeen) {
  const Rows rows(32, 8);
  Sequential model = noisy_model();
  const auto train = [&] { model.train_on_batch(rows.regression()); };
  const auto predict = [&] { model.predict(data::arrays(rows.inputs())); };
  train(), predict();
  model.compile({.loss = "mae"});
  EXPECT_EQ(hits_of(train), 0);
  EXPECT_EQ(hits_of(train), 1);
  model.compiled().loss(0)->reduction = "sum";
  EXPECT_EQ(hits_of(train), 0);

  model.layers()[0]->trainable = false;
  expect_contains(error_of(train), "was changed after compile");
  model.compile({.loss = "mse"});
  const auto frozen = model.layers()[0].get_weights();
  train();
  EXPECT_EQ(model.layers()[0].get_weights(), frozen);

  predict();
  model.add(Dense(2));
  EXPECT_EQ(hits_of(predict), 0);
  EXPECT_EQ(model.predict(data::arrays(rows.inputs()))[0].size(), 64u);
}

TEST(StepCache, NewWeightsAndRatesCount) {
  const Rows rows(32, 8);
  Sequential model = regression_model(8);
  const auto predict = [&] { return model.predict(data::arrays(rows.inputs()))[0]; };
  const std::vector<float> first = predict();
  auto weights = model.get_weights();
  for (float& value : weights[3]) value += 1;
  model.set_weights(weights);
  EXPECT_NEAR(predict()[0], first[0] + 1, 1e-6);
  model.train_on_batch(rows.regression());
  const auto trained = model.get_weights();
  model.compiled().optimizer()->set_learning_rate(0.0);
  EXPECT_EQ(hits_of([&] { model.train_on_batch(rows.regression()); }), 1);
  EXPECT_EQ(model.get_weights(), trained);
}

// What it adds may be more than its settings say.
class Scaled final : public LayerDefinition {
 public:
  std::string_view class_name() const override { return "Scaled"; }
  void settings(SettingVisitor&) override {}
  Values call(Tracer&, const Values& in) override { return {in[0] * by}; }
  double by = 1;
};

TEST(StepCache, ALayerOfOnesOwnIsAskedEachTime) {
  const Rows rows(4, 8);
  const auto scaled = std::make_shared<Scaled>();
  Sequential model({Input({8}), Layer(scaled)});
  EXPECT_EQ(model.predict(data::arrays(rows.inputs()))[0], rows.x);
  scaled->by = 0;
  EXPECT_EQ(model.predict(data::arrays(rows.inputs()))[0], std::vector<float>(32));
}

// A network that is used as a layer, of a class of one's own.
class ScaledNetwork final : public Network {
 public:
  ScaledNetwork() {
    add(Input({8}));
    add(Dense(1));
  }
  Values call(Tracer& tracer, const Values& in) override {
    return {Network::call(tracer, in)[0] * by};
  }
  double by = 1;
};

TEST(StepCache, ANetworkOfOnesOwnIsAskedEachTime) {
  const Rows rows(4, 8);
  const auto scaled = std::make_shared<ScaledNetwork>();
  Sequential model({Input({8}), Layer(scaled)});
  const auto predict = [&] { return model.predict(data::arrays(rows.inputs()))[0]; };
  EXPECT_NE(predict(), std::vector<float>(4));
  scaled->by = 0;
  EXPECT_EQ(predict(), std::vector<float>(4));
}

// Has its losses summed up from its first batch on.
class SumsUp final : public Callback {
 public:
  explicit SumsUp(Model& model) : model_(model) {}
  void on_test_begin() override { model_.compiled().loss(0)->reduction = "sum"; }

 private:
  Model& model_;
};

// What callbacks change after a step was planned is not what it was planned from.
TEST(StepCache, OfAModelThatItsCallbacksChangeNothingIsKept) {
  const Rows rows(32, 8);
  Sequential model = regression_model(8);
  const auto loss = [&](const EvaluateOptions& options = {}) {
    return model.evaluate(rows.regression(), options).at("loss");
  };
  const double mean = loss();
  step_cache().drop_all();
  EXPECT_EQ(loss({.callbacks = {std::make_shared<SumsUp>(model)}}), mean);
  EXPECT_EQ(hits_of([&] { EXPECT_NEAR(loss(), mean * 32, mean); }), 0);
}

// Arrays are borrowed: those of the call before are gone, or are not where rows may be written.
TEST(StepCache, KeepsNothingOfTheCallersArrays) {
  Sequential model = regression_model(8);
  const Rows before(32, 8, 1), now(32, 8, 2);
  const std::vector<float> wanted = model.predict(data::arrays(now.inputs()))[0];
  step_cache().drop_all();
  {
    Rows gone = before;
    model.predict(data::arrays(gone.inputs()));
    EXPECT_EQ(model.predict(data::arrays(now.inputs()))[0], wanted);
    EXPECT_EQ(gone.x, before.x);
  }
  EXPECT_EQ(model.predict(data::arrays(now.inputs()))[0], wanted);
  // Numbers of another type are cast, not borrowed.
  const std::vector<double> wide(now.x.begin(), now.x.end());
  EXPECT_EQ(model.predict(data::arrays(Array(wide.data(), {32, 8})))[0], wanted);
}

TEST(StepCache, ABadBatchIsStillRefused) {
  Rows rows(32, 8);
  Sequential model = regression_model(8);
  model.train_on_batch(rows.regression());
  const auto weights = model.get_weights();
  rows.y[3] = std::numeric_limits<float>::max();
  expect_contains(error_of([&] { model.train_on_batch(rows.regression()); }), "fit: ");
  EXPECT_EQ(model.get_weights(), weights);
  rows.y[3] = std::nanf("");
  expect_contains(error_of([&] { model.train_on_batch(rows.regression()); }), "row 3");
  rows.y[3] = 0;
  model.train_on_batch(rows.regression());
  EXPECT_NE(model.get_weights(), weights);
}

TEST(StepCache, GoesWithTheModel) {
  step_cache().drop_all();
  const Rows rows(32, 8);
  {
    Sequential model = regression_model(8), other = regression_model(8);
    model.train_on_batch(rows.regression());
    const int64_t of_one = step_cache().bytes();
    EXPECT_GT(of_one, 0);
    other.train_on_batch(rows.regression());
    EXPECT_EQ(step_cache().bytes(), 2 * of_one);
    other = regression_model(8);
    EXPECT_EQ(step_cache().bytes(), of_one);
    Sequential moved = std::move(model);
    EXPECT_EQ(hits_of([&] { moved.train_on_batch(rows.regression()); }), 1);
    // A fit takes its place, whatever it may need.
    moved.fit(rows.regression(), {.verbose = 0});
    EXPECT_EQ(step_cache().bytes(), 0);
    moved.train_on_batch(rows.regression());
  }
  EXPECT_EQ(step_cache().bytes(), 0);
}

TEST(StepCache, StandsBesideNoBudget) {
  const Rows rows(32, 8);
  Sequential model = regression_model(8), other = regression_model(8);
  other.predict(data::arrays(rows.inputs()));
  EXPECT_GT(step_cache().bytes(), 0);
  LambdaCallbackOptions watch;
  watch.on_epoch_end = [&](int, Logs&) {
    model.predict(data::arrays(rows.inputs()));
    EXPECT_EQ(step_cache().bytes(), 0);
  };
  watch.on_train_begin = [&] { EXPECT_EQ(step_cache().bytes(), 0); };
  model.fit(rows.regression(),
            {.epochs = 2, .callbacks = {LambdaCallback(watch)}, .verbose = 0, .memory = 64_MiB});
}

// Whoever is called while a fit with a budget runs.
TEST(StepCache, KeepsNothingOfAnyModelWithinABudget) {
  const Rows rows(32, 8);
  Sequential model = regression_model(8), other = regression_model(8);
  const auto calls = [&] {
    other.predict(data::arrays(rows.inputs()));
    other.train_on_batch(rows.regression());
    model.train_on_batch(rows.regression());
    model.predict(data::arrays(rows.inputs()));
  };
  LambdaCallbackOptions watch;
  watch.on_epoch_end = [&](int, Logs&) {
    for (int i = 0; i < 2; ++i) calls();
    EXPECT_TRUE(model.compiled().left_bytes()) << "a fit within took the budget of the one around";
    EXPECT_EQ(step_cache().bytes(), 0);
  };
  model.fit(rows.regression(),
            {.callbacks = {LambdaCallback(watch)}, .verbose = 0, .memory = 1_GiB});
  EXPECT_FALSE(model.compiled().left_bytes());
  calls();
  EXPECT_GT(step_cache().bytes(), 0);
  // One that predicts within a budget, too.
  const auto sink = [&](int, int64_t, const Tensor&) {
    other.train_on_batch(rows.regression());
    EXPECT_EQ(step_cache().bytes(), 0);
  };
  model.predict(data::arrays(rows.inputs()), sink, {.memory = 64_MiB});
}

TEST(StepCache, AStepWithABudgetStandsAloneEachTime) {
  step_cache().drop_all();
  const Rows rows(32, 8);
  Sequential model = regression_model(8), other = regression_model(8);
  const std::vector<std::function<void()>> calls = {
      [&] { model.train_on_batch(rows.regression(), {.memory = 64_MiB}); },
      [&] { model.predict(data::arrays(rows.inputs()), {.memory = 64_MiB}); }};
  for (const auto& call : calls) {
    call();
    const int64_t alone = step_cache().bytes();
    other.predict(data::arrays(rows.inputs()));
    EXPECT_GT(step_cache().bytes(), alone);
    EXPECT_EQ(hits_of(call), 1);
    EXPECT_EQ(step_cache().bytes(), alone);
  }
}

TEST(StepCache, HoldsSoMuchAndNoMore) {
  step_cache().drop_all();
  const Rows rows(32, 8);
  std::vector<Sequential> models;
  for (int i = 0; i < 4; ++i) {
    models.push_back(Sequential({Input({8}), Dense(100'000, "relu"), Dense(1)}));
    models.back().predict(data::arrays(rows.inputs()));
    EXPECT_LE(step_cache().bytes(), StepCache::kMostBytes);
  }
  const auto predict = [&](int i) {
    return hits_of([&] { models[i].predict(data::arrays(rows.inputs())); });
  };
  EXPECT_EQ(predict(3), 1);  // The last one stays, the first one made room.
  EXPECT_EQ(predict(0), 0);
}

// The process may have so much more than it has, while it lives.
class TightMemory {
 public:
  explicit TightMemory(int64_t more) {
    getrlimit(RLIMIT_AS, &before_);
    limit_to(64_GiB);
    for (const MemoryLimit& limit : available_memory().limits)
      if (limit.name == "RLIMIT_AS") limit_to(limit.used_bytes + more);
  }
  ~TightMemory() { setrlimit(RLIMIT_AS, &before_); }
  TightMemory(const TightMemory&) = delete;
  TightMemory& operator=(const TightMemory&) = delete;

 private:
  void limit_to(int64_t bytes) {
    const rlimit tight{static_cast<rlim_t>(bytes), before_.rlim_max};
    setrlimit(RLIMIT_AS, &tight);
  }
  rlimit before_{};
};

TEST(StepCache, GivesWayWhereMemoryIsShort) {
  if (kSanitized) GTEST_SKIP() << "the sanitizer's own memory counts";
  step_cache().drop_all();
  const Rows rows(32, 8);
  Sequential large({Input({8}), Dense(100'000, "relu"), Dense(1)}), small = small_model(8);
  const auto predict = [&](Sequential& model) { model.predict(data::arrays(rows.inputs())); };
  predict(large);
  EXPECT_GT(step_cache().bytes(), 10_MiB);
  const TightMemory tight(96_MiB);
  predict(small);
  EXPECT_LT(step_cache().bytes(), 1_MiB);
  EXPECT_GT(step_cache().bytes(), 0);
  predict(large);
  EXPECT_LT(step_cache().bytes(), 1_MiB);
}

TEST(StepCache, InSeveralThreads) {
  const Rows rows(32, 8);
  Sequential model = noisy_model();
  const auto predict = [&] { return model.predict(data::arrays(rows.inputs()))[0]; };
  const std::vector<float> wanted = predict();
  std::vector<double> trained = results_of_calls(false);
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i)
    threads.emplace_back([&] { EXPECT_EQ(results_of_calls(false), trained); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(predict(), wanted);
  // What one thread has left, another runs.
  std::thread([&] { EXPECT_EQ(predict(), wanted); }).join();
  EXPECT_EQ(hits_of([&] { EXPECT_EQ(predict(), wanted); }), 1);
}

// A model predicts outside and inside a parallel region in turns.
TEST(StepCache, InAParallelRegionItIsAnotherStep) {
  const Rows rows(32, 8);
  Sequential model = noisy_model();
  const auto predict = [&] { return model.predict(data::arrays(rows.inputs()))[0]; };
  const std::vector<float> wanted = predict();
  const auto expect_wanted = [&](int) {
    EXPECT_EQ(error_of([&] { EXPECT_EQ(predict(), wanted); }), "");
  };
  parallel_parts(2, expect_wanted);
#pragma omp parallel for num_threads(2)
  for (int i = 0; i < 4; ++i) expect_wanted(i);
  EXPECT_EQ(hits_of([&] { expect_wanted(0); }), 1);
}

int parts_in_openmp() {
  std::atomic<int> parts = 0;
  parallel_parts(2, [&](int) { parts += omp_in_parallel(); });
  return parts;
}

// oneDNN's own threads are in nobody's way between two calls.
TEST(StepCache, KeepsNoOpenmpRegions) {
  const Rows rows(1, 64 * 64 * 16);
  Sequential model({Input({64, 64, 16}), Conv2D(32, {5, 5}, {.strides = 2}), Flatten()});
  const auto predict = [&] {
    int inside = 0;
    model.predict(data::arrays(Array(rows.x.data(), {1, 64, 64, 16})),
                  [&](int, int64_t, const Tensor&) { inside += parts_in_openmp(); },
                  {.threads = 2});
    return inside;
  };
  const int inside = predict();
  if (inside == 0) GTEST_SKIP() << "no primitive here has threads of its own";
  EXPECT_EQ(parts_in_openmp(), 0);
  EXPECT_EQ(hits_of([&] { EXPECT_EQ(predict(), inside); }), 1);
  EXPECT_EQ(parts_in_openmp(), 0);
}

// Who asks for a step reads the layers only: another thread may do the same.
TEST(StepCache, KeysAreMadeInSeveralThreads) {
  const Rows rows(32, 8);
  const std::vector<double> numbers(8, 2);
  Sequential model({Input({8}), Normalization({.mean = numbers, .variance = numbers}), Dense(1)});
  const SourcePtr data = data::arrays(rows.inputs());
  const auto key = [&] {
    return step_key({.what = StepCall::What::predict,
                     .network = &model.network(),
                     .source = data.get(),
                     .rows = {32}});
  };
  const std::optional<std::string> wanted = key();
  ASSERT_TRUE(wanted);
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 20'000; ++k) ASSERT_EQ(key(), wanted);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace snug::testing

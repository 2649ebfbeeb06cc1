// A model as its user holds it: its parts by name, models made of parts, and calls that cannot be.
#include "snug/train/model.h"

#include <gtest/gtest.h>

#include "snug/base/error.h"
#include "snug/data/generator.h"
#include "snug/data/source_testing.h"
#include "snug/nn/merging.h"
#include "snug/nn/normalization.h"
#include "snug/ops/ops.h"
#include "snug/train/callbacks.h"
#include "snug/train/fit_testing.h"
#include "snug/train/trace.h"

namespace snug::testing {
namespace {

std::vector<std::string> names_of(const Model& model) {
  std::vector<std::string> names;
  for (const Layer& layer : model.layers()) names.push_back(layer->name);
  return names;
}

TEST(Model, ModelsWithoutNamesGoIntoOne) {
  Sequential encoder({Input({4}), Dense(2)}), decoder({Input({2}), Dense(4)});
  const Symbol x = Input({4});
  Model both(x, decoder(encoder(x)));
  EXPECT_EQ(names_of(both),
            (std::vector<std::string>{"input_layer", "sequential", "sequential_1"}));
  EXPECT_EQ(both.weights()[2]->path(), "sequential_1/dense/kernel");
  // Layers of two models, each of which called its own "dense".
  Model mixed(x, decoder.layers()[0](encoder.layers()[0](x)));
  EXPECT_EQ(names_of(mixed), (std::vector<std::string>{"input_layer", "dense", "dense_1"}));
}

TEST(Model, NamesThatTheUserGaveTwiceAreRefused) {
  const Symbol x = Input({4});
  const Layer first = Dense(4, {.name = "same"}), second = Dense(4, {.name = "same"});
  EXPECT_EQ(message_of([&] { Model(x, second(first(x)), "m"); }),
            "the name \"same\" is used twice in m; layers of a model need different names");
}

TEST(Model, LayersByName) {
  Sequential model({Input({3}), Dense(4, {.name = "hidden"}), Dense(1)});
  EXPECT_EQ(model.get_layer("hidden").weights()[0]->path(), "hidden/kernel");
  EXPECT_EQ(message_of([&] { model.get_layer("hiden"); }),
            "get_layer: sequential has no layer \"hiden\"; did you mean \"hidden\"?");
  // Before anything was trained: the values that training will begin with.
  EXPECT_EQ(model.get_layer("hidden").get_weights()[0], model.get_weights()[0]);
}

TEST(Model, OfAPartOfAnother) {
  const Rows rows(6, 3);
  Sequential base({Input({3}), Dense(4, {.activation = "tanh", .name = "hidden"}), Dense(2)});
  Model features(base.inputs(), base.output_of("hidden"));
  Model longer(base.inputs()[0], Dense(1)(base.outputs()[0]));
  EXPECT_EQ(features.get_weights()[0], base.get_weights()[0]);
  EXPECT_EQ(features.predict(data::arrays(rows.inputs()))[0].size(), 24u);
  EXPECT_EQ(longer.weights().size(), 6u);
  EXPECT_EQ(message_of([] { Sequential({Dense(1, {.name = "a"})}).output_of("a"); }),
            "output_of: the model has no shapes yet; begin it with an Input, or fit it once");
}

// A base whose layers are used on their own, without it.
TEST(Model, OnAFrozenBase) {
  const Rows rows(8, 3);
  Sequential base({Input({3}), Dense(4), BatchNormalization(), Dense(2, {.name = "last"})});
  base.layer()->trainable = false;
  Model model(base.inputs(), Dense(1)(base.outputs()[0]));
  EXPECT_EQ(model.trainable_variables().size(), 2u);
  model.compile({.optimizer = "sgd", .loss = "mse"});
  const auto before = base.get_weights();
  model.fit(rows.regression(), {.verbose = 0});
  EXPECT_EQ(base.get_weights(), before);
  base.get_layer("last")->trainable = true;
  EXPECT_EQ(model.trainable_variables().size(), 4u);
  base.layer()->trainable = true;
  EXPECT_EQ(model.trainable_variables().size(), 8u);
}

TEST(Model, GivesAllOfItsOutputs) {
  const Symbol x = Input({3});
  Model two(x, {Dense(1)(x), Dense(2)(x)}, "two");
  const Symbol y = Input({3});
  EXPECT_EQ(two(Symbols{y}).size(), 2u);
  EXPECT_EQ(two(Symbols{y})[1].shape(), (Shape{kRows, 2}));
  EXPECT_EQ(message_of([&] { two(y); }),
            "two: it gives 2 values, and one was asked for; use call({x}), which gives all");
  const BatchSpec spec{.inputs = {{DType::float32, {kRows, 3}}}, .targets = {}, .batch_size = 4};
  EXPECT_EQ(message_of([&] {
              trace(spec, {}, [&](const Values& in, const Values&) { return two(in[0]); });
            }),
            "two: it has 2 outputs, and one was asked for; call it on a list, model(Values{x})");
}

// Ends in numbers of classes, which are no floats.
TEST(Model, PredictsWholeNumbers) {
  class Largest final : public LayerDefinition {
   public:
    std::string_view class_name() const override { return "Largest"; }
    void settings(SettingVisitor&) override {}
    Values call(Tracer&, const Values& in) override { return {ops::argmax(in[0], -1)}; }
  };
  const std::vector<float> x = {1, 5, 2, 9, 0, 3};
  Sequential model({Input({3}), make_layer<Largest>()});
  EXPECT_EQ(model.predict(data::arrays(Array(x.data(), {2, 3})))[0], (std::vector<float>{1, 0}));
}

TEST(Model, OneOrSeveralAtEitherEnd) {
  const Symbol a = Input({2}), b = Input({2});
  const Symbol sum = Add()({a, b});
  EXPECT_EQ(Model({a, b}, sum).network().input_calls().size(), 2u);
  EXPECT_EQ(Model(a, {Dense(1)(a), Dense(2)(a)}).network().output_calls().size(), 2u);
  EXPECT_EQ(message_of([&] { Model(a, Symbol()); }),
            "Model: an output is empty; give what Input or a layer gives");
  EXPECT_EQ(message_of([&] { Model(Symbol(), sum); }),
            "Model: an input is empty; give what Input or a layer gives");
}

TEST(Model, InputsAndOutputsInBraces) {
  const auto a = Input({2}), b = Input({2});
  const Symbol one = Dense(1)(a), two = Dense(2)(a), sum = Add()({a, b});
  const auto ends = [](const Model& model) {
    return std::pair(model.inputs().size(), model.outputs().size());
  };
  EXPECT_EQ(ends(Model({a}, {one, two})), std::pair(1ul, 2ul));
  EXPECT_EQ(ends(Model({a}, one)), std::pair(1ul, 1ul));
  EXPECT_EQ(ends(Model({a}, {one})), std::pair(1ul, 1ul));
  EXPECT_EQ(ends(Model(a, {one, two}, "name")), std::pair(1ul, 2ul));
  EXPECT_EQ(ends(Model({a, b}, {sum})), std::pair(2ul, 1ul));
  EXPECT_EQ(ends(Model({a, b}, {sum, one})), std::pair(2ul, 2ul));
  EXPECT_EQ(ends(Model(Symbols{a, b}, Symbols{sum, one, two})), std::pair(2ul, 3ul));
}

TEST(Model, AnInputIsOneSymbolHoweverOftenItIsUsed) {
  const auto x = Input({2});
  const Symbol y = Dense(1)(Dense(3)(x));
  EXPECT_EQ(Model(x, y).weights().size(), 4u);
}

TEST(Model, ALossForEachOutput) {
  const Rows rows(8, 3);
  const Symbol x = Input({3});
  Model model(x, {Dense(1)(x), Dense(1)(x)});
  model.compile({.loss = {"mse", "mae"}});
  const Logs logs =
      model.evaluate(data::arrays({.x = {rows.inputs()}, .y = {Array(rows.y), Array(rows.y)}}));
  EXPECT_NEAR(logs.at("loss"), logs.at("dense_loss") + logs.at("dense_1_loss"), 1e-6);
}

TEST(Model, OutputsAreCountedWhenThereAreSome) {
  const Rows rows(8, 3);
  Sequential model({Dense(1)});
  model.compile({.loss = "mse", .loss_weights = {2.0}});
  model.fit(rows.regression(), {.verbose = 0});
  Sequential wrong({Dense(1)});
  wrong.compile({.loss = "mse", .loss_weights = {2.0, 1.0}});
  for (int i = 0; i < 2; ++i) {  // The first error leaves nothing half made.
    EXPECT_EQ(message_of([&] { wrong.fit(rows.regression(), {.verbose = 0}); }),
              "compile: 2 loss_weights were given for 1 outputs; give one for each output");
  }
}

TEST(Model, WeightsOfLossesAreNumbers) {
  Sequential model({Input({3}), Dense(1)});
  EXPECT_EQ(message_of([&] { model.compile({.loss = "mse", .loss_weights = {NAN}}); }),
            "compile: loss_weights has nan; give a number for each output");
}

TEST(Model, OneBatch) {
  const Rows rows(50, 3);
  Sequential model = regression_model(3);
  EXPECT_EQ(model.test_on_batch(rows.regression()),
            model.evaluate(rows.regression(), {.batch_size = 50}));
  EXPECT_EQ(model.predict_on_batch(rows.regression()), model.predict(rows.regression()));
  EXPECT_EQ(model.compiled().iterations(), 0);
  model.train_on_batch(rows.regression());
  EXPECT_EQ(model.compiled().iterations(), 1);
}

TEST(Model, OneBatchOfUnknownLength) {
  const SourcePtr source =
      data::generator([](auto) { return int64_t{0}; }, {.x = {{3}}, .y = {{}}});
  Sequential model = regression_model(3);
  const std::string rest =
      ": how many rows the source has is not known; say so (GeneratorSpec::rows)";
  EXPECT_EQ(message_of([&] { model.train_on_batch(source); }), "train_on_batch" + rest);
  EXPECT_EQ(message_of([&] { model.test_on_batch(source); }), "test_on_batch" + rest);
  EXPECT_EQ(message_of([&] { model.predict_on_batch(source); }), "predict_on_batch" + rest);
}

TEST(Model, WithoutDataOrCallback) {
  const Rows rows(8, 3);
  Sequential model = regression_model(3);
  const SourcePtr none;
  const std::string rest = ": there is no data; give a source, like data::arrays(x, y)";
  EXPECT_EQ(message_of([&] { model.fit(none); }), "fit" + rest);
  EXPECT_EQ(message_of([&] { model.plan(none, {}); }), "plan" + rest);
  EXPECT_EQ(message_of([&] { model.evaluate(none); }), "evaluate" + rest);
  EXPECT_EQ(message_of([&] { model.predict(none); }), "predict" + rest);
  EXPECT_EQ(message_of([&] { model.train_on_batch(none); }), "train_on_batch" + rest);
  EXPECT_EQ(message_of([&] { model.fit(rows.regression(), {.callbacks = {nullptr}}); }),
            "fit: a callback is null; make it, or leave it out");
  EXPECT_EQ(message_of([&] { model.evaluate(rows.regression(), {.callbacks = {nullptr}}); }),
            "evaluate: a callback is null; make it, or leave it out");
}

TEST(Model, WhatCompileIsFor) {
  const Rows rows(8, 3);
  Sequential model = small_model(3);
  EXPECT_EQ(message_of([&] { model.fit(rows.regression()); }),
            "the model has not been compiled; call compile({.optimizer = ..., .loss = ...}) first");
  model.compile({.optimizer = "sgd"});
  EXPECT_EQ(message_of([&] { model.evaluate(rows.regression()); }),
            "this model has no loss; give one to compile({.loss = ...})");
}

TEST(Model, WasMovedFrom) {
  const Rows rows(8, 3);
  Sequential from = regression_model(3);
  Model model = std::move(from);
  EXPECT_EQ(model.fit(rows.regression(), {.verbose = 0}).epoch.size(), 1u);
  const std::function<void()> calls[] = {
      [&] { from.fit(rows.regression()); },
      [&] { from.train_on_batch(rows.regression()); },
      [&] { from.evaluate(rows.regression()); },
      [&] { from.predict(rows.regression()); },
      [&] { from.plan(); },
      [&] { from.plan(rows.regression(), {}); },
      [&] { from.compile({.loss = "mse"}); },
      [&] { from.compiled(); },
      [&] { from.add(Dense(1)); },
      [&] { from.layers(); },
      [&] { from.get_layer("dense"); },
      [&] { from.inputs(); },
      [&] { from(Input({3})); },
      [&] { from.get_weights(); },
      [&] { from.set_weights({}); },
      [&] { from.ensure_weights(0); },
      [&] { from.save("moved.keras"); },
      [&] { from.load_weights("moved.weights.h5"); },
      [&] { from.bytes_to_save("moved.keras"); },
      [&] { from.summary(); },
  };
  for (const auto& call : calls)
    EXPECT_EQ(message_of(call),
              "the model is empty: it was moved from; use the one that it was moved to, or assign "
              "a new one to this");
  EXPECT_FALSE(from.is_compiled());
  from = regression_model(3);
  EXPECT_EQ(from.predict(rows.regression())[0].size(), 8u);
}

TEST(Model, BudgetsBelowNothing) {
  const Rows rows(8, 3);
  Sequential model = regression_model(3);
  const std::string message = "memory is -5 bytes; give a budget, or 0 for what the machine leaves";
  EXPECT_EQ(message_of([&] { model.fit(rows.regression(), {.memory = -5}); }), message);
  EXPECT_EQ(message_of([&] { model.evaluate(rows.regression(), {.memory = -5}); }), message);
  EXPECT_EQ(message_of([&] { model.plan({.memory = -5}); }), message);
}

TEST(Model, IsNotCompiledWhileItIsFitted) {
  const Rows rows(8, 3);
  Sequential model = regression_model(3);
  LambdaCallbackOptions compiles;
  compiles.on_epoch_end = [&](int, Logs&) { model.compile({.loss = "mae"}); };
  EXPECT_EQ(message_of([&] {
              model.fit(rows.regression(), {.callbacks = {LambdaCallback(compiles)}, .verbose = 0});
            }),
            "compile: the model is being fitted or evaluated; compile it when that is done");
  model.compile({.loss = "mae"});
}

class BatchLogs final : public Callback {
 public:
  explicit BatchLogs(SourcePtr data) : data_(std::move(data)) {}
  // Another pass that ends before the first batch does not count in this one.
  void on_test_begin() override {
    if (data_) model().evaluate(data_);
  }
  void on_test_batch_end(int64_t, const Logs& logs) override { test.push_back(logs); }
  bool wants_batch_logs() const override { return true; }

  std::vector<Logs> test;

 private:
  SourcePtr data_;
};

TEST(Model, LogsOfTestBatches) {
  const Rows rows(20, 3), others(10, 3, 7);
  Sequential model = regression_model(3);
  const auto in_fit = std::make_shared<BatchLogs>(others.regression());
  const History history =
      model.fit(rows.regression(),
                {.batch_size = 5, .validation_split = 0.5, .callbacks = {in_fit}, .verbose = 0});
  ASSERT_EQ(in_fit->test.size(), 2u);
  EXPECT_EQ(in_fit->test[1].at("loss"), history.history.at("val_loss")[0]);
  EXPECT_NEAR(in_fit->test[0].at("loss"), model.evaluate(rows.regression(10, 5)).at("loss"), 1e-6);

  const auto in_evaluate = std::make_shared<BatchLogs>(others.regression());
  const Logs logs =
      model.evaluate(rows.regression(), {.batch_size = 10, .callbacks = {in_evaluate}});
  ASSERT_EQ(in_evaluate->test.size(), 2u);
  EXPECT_EQ(in_evaluate->test[1], logs);
  EXPECT_NEAR(logs.at("loss"), model.evaluate(rows.regression()).at("loss"), 1e-6);
}

// A metric of the user's own, in sums of float32.
class MeanPrediction final : public MetricDefinition {
 public:
  MeanPrediction() { name = "mean_prediction"; }
  std::string_view class_name() const override { return "MeanPrediction"; }
  Type target_type(const Type& predictions, const Shape&) const override { return predictions; }
  void update(Tracer& tracer, Value, Value predictions, Value) override {
    add_to_state(tracer, ops::concat({ops::reshape(ops::sum(predictions), {1}),
                                      ops::reshape(tracer.rows(), {1})},
                                     0));
  }
  double result() const override { return sums().empty() ? 0 : sums()[0] / sums()[1]; }
  MetricPtr fresh() const override { return std::make_shared<MeanPrediction>(*this); }
};

TEST(Model, AMetricOfOnesOwn) {
  const Rows rows(20, 3);
  Sequential model = small_model(3);
  model.compile({.loss = "mse", .metrics = {Metric(std::make_shared<MeanPrediction>())}});
  const std::vector<std::vector<float>> predictions = model.predict(rows.regression());
  double mean = 0;
  for (const float prediction : predictions[0]) mean += prediction / 20;
  EXPECT_NEAR(model.evaluate(rows.regression(), {.batch_size = 8}).at("mean_prediction"), mean,
              1e-6);
}

}  // namespace
}  // namespace snug::testing

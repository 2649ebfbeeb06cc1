#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "snug/base/error.h"
#include "snug/base/log.h"
#include "snug/data/arrays.h"
#include "snug/nn/dense.h"
#include "snug/nn/operators.h"
#include "snug/nn/symbol_ops.h"
#include "snug/testing/memory_files.h"
#include "snug/train/callbacks.h"
#include "snug/train/model.h"

namespace snug::testing {
namespace {

const std::vector<float> kX = {1, 2, 3, 4, 5, 6, 7, 8}, kY = {1, 2, 3, 4};

SourcePtr rows() {
  return data::arrays(
      {.x = {snug::Array(kX.data(), Shape{4, 2})}, .y = {snug::Array(kY.data(), Shape{4, 1})}});
}

Sequential model(const Optimizer& optimizer) {
  Sequential model({Input({2}), Dense(3, {.activation = "tanh"}), Dense(1)}, "net");
  model.compile({.optimizer = optimizer, .loss = "mse", .metrics = {"mae"}});
  return model;
}

// No class of Keras's.
struct OwnLoss final : LossDefinition {
  std::string_view class_name() const override { return "OwnLoss"; }
  void settings(SettingVisitor&) override {}
  Type target_type(const Type& predictions, const Shape&) const override { return predictions; }
  Value values(Tracer&, Value, Value predictions) const override { return predictions; }
};

TEST(ModelFiles, KeepWhatTheirDataWasFittedTo) {
  std::string fitted = R"({"class_names":["a","\u00e9"],"vocabulary":[)";
  for (int i = 0; i < 10000; ++i) fitted += fmt::format("{}\"word {}\"", i == 0 ? "" : ",", i);
  fitted += "]}";
  for (const char* path : {"m.keras", "m.h5"}) {
    MemoryFiles files;
    Sequential one = model(Adam());
    one.save(path, files);
    EXPECT_EQ(load_model(path, {}, files).columns, "");
    one.columns = fitted;
    one.save(path, files);
    const Model two = load_model(path, {}, files);
    EXPECT_EQ(nlohmann::json::parse(two.columns), nlohmann::json::parse(fitted)) << path;
  }
}

// Operations of keras.ops train, have no weights, and stand in the summary but not among the
// layers.
Model with_operations() {
  const Symbol x = Input({2}, {.name = "x"});
  const Symbol h = Dense(4, {.activation = "tanh", .name = "h"})(x);
  const Symbol first = ops::expand_dims(ops::get_item(h, {ops::kAll, 0}), 1);
  const Symbol shares = ops::softmax(ops::clip(ops::power(h, 2), 0.1F, 2));
  const Symbol wide = ops::reshape(ops::concat({h, ops::exp(-h)}, -1), {kRows, 2, 4});
  const Symbol y = ops::concat({first, shares, ops::sqrt(ops::mean(wide, {.axes = {1}}) + 3)}, -1);
  Model model(x, Dense(1, {.name = "y"})(ops::maximum(y, -0.5)), "net");
  model.compile({.optimizer = SGD(), .loss = "mse"});
  return model;
}

TEST(ModelFiles, OperationsTrainAndComeBack) {
  const FitOptions options{.epochs = 40, .verbose = 0};
  for (const char* path : {"m.keras", "m.h5"}) {
    MemoryFiles files;
    Model one = with_operations();
    EXPECT_EQ(one.layers().size(), 3u);
    EXPECT_NE(one.summary().find("(GetItem)"), std::string::npos) << one.summary();
    const std::vector<double> losses = one.fit(rows(), options).history.at("loss");
    EXPECT_LT(losses.back(), losses.front() / 2);
    one.save(path, files);
    Model two = load_model(path, {}, files);
    EXPECT_EQ(one.summary(), two.summary()) << path;
    EXPECT_EQ(one.predict(rows()), two.predict(rows())) << path;
    one.fit(rows(), options), two.fit(rows(), options);
    EXPECT_EQ(one.get_weights(), two.get_weights()) << path;
  }
}

// Every optimizer goes on from its file as if it had never stopped.
TEST(ModelFiles, KeepTheStateOfEveryOptimizer) {
  const std::vector<Optimizer> optimizers = {SGD(),
                                             SGD({.momentum = 0.9}),
                                             Adam(),
                                             Adam({.amsgrad = true}),
                                             AdamW(),
                                             Adamax(),
                                             Nadam(),
                                             Adagrad(),
                                             Adadelta(),
                                             Lion(),
                                             RMSprop(),
                                             RMSprop({.momentum = 0.5, .centered = true}),
                                             SGD({.learning_rate = ExponentialDecay(0.1, 3, 0.5)}),
                                             Adam({.use_ema = true, .ema_overwrite_frequency = 3})};
  const FitOptions options{.batch_size = 2, .epochs = 3, .shuffle = false, .verbose = 0};
  for (const Optimizer& optimizer : optimizers) {
    for (const char* path : {"m.keras", "m.h5"}) {
      SCOPED_TRACE(fmt::format("{} {}", optimizer->class_name(), path));
      MemoryFiles files;
      Sequential one = model(optimizer);
      one.fit(rows(), options);
      one.save(path, files);
      Model two = load_model(path, {}, files);
      EXPECT_EQ(two.compiled().iterations(), 6);
      EXPECT_EQ(two.get_weights(), one.get_weights());
      EXPECT_EQ(two.compiled().optimizer()->class_name(), optimizer->class_name());
      one.fit(rows(), options);
      two.fit(rows(), options);
      EXPECT_EQ(two.get_weights(), one.get_weights());
    }
  }
}

TEST(ModelFiles, KeepARateThatACallbackSet) {
  MemoryFiles files;
  Sequential one = model(SGD());
  one.fit(rows(), {.callbacks = {LearningRateScheduler([](int) { return 0.125; })}, .verbose = 0});
  one.save("m.keras", files);
  EXPECT_EQ(load_model("m.keras", {}, files).compiled().optimizer()->learning_rate_at(0), 0.125f);
}

TEST(ModelFiles, KeepLossesAndMetrics) {
  MemoryFiles files;
  Sequential one = model(SGD());
  one.fit(rows(), {.verbose = 0});  // So that the optimizer has its counters, as the file brings.
  one.save("m.keras", files);
  Model two = load_model("m.keras", {}, files);
  EXPECT_EQ(one.evaluate(rows()), two.evaluate(rows()));
  EXPECT_EQ(one.predict(rows()), two.predict(rows()));
  EXPECT_EQ(one.summary(), two.summary());
}

TEST(ModelFiles, OfAModelThatIsNotCompiledHaveNoOptimizer) {
  MemoryFiles files;
  Sequential one({Input({2}), Dense(1)});
  one.save("m.keras", files);
  one.save("m.h5", files);
  EXPECT_FALSE(load_model("m.keras", {}, files).is_compiled());
  EXPECT_FALSE(load_model("m.h5", {}, files).is_compiled());
}

// A loss that nothing can read does not matter then.
TEST(ModelFiles, AreReadWithoutTheirCompilation) {
  MemoryFiles files;
  const std::string path = "m.keras";
  Sequential one = model(SGD());
  one.compile({.optimizer = SGD(), .loss = Loss(std::make_shared<OwnLoss>())});
  one.save(path, files);
  EXPECT_THROW(load_model(path, {}, files), Error);
  Model two = load_model(path, {.compile = false}, files);
  EXPECT_FALSE(two.is_compiled());
  EXPECT_EQ(two.get_weights(), one.get_weights());
}

// As Keras 3 does, whether the model has made a step before or not.
TEST(ModelFiles, OfWeightsHaveTheStateOfTheOptimizer) {
  const FitOptions options{.batch_size = 2, .epochs = 3, .shuffle = false, .verbose = 0};
  MemoryFiles files;
  Sequential one = model(Adam());
  one.fit(rows(), options);
  one.save_weights("m.weights.h5", files);
  Sequential fresh = model(Adam()), trained = model(Adam()), by_name = model(Adam());
  trained.fit(rows(), {.batch_size = 1, .verbose = 0});
  by_name.load_weights("m.weights.h5", {.by_name = true}, files);
  EXPECT_EQ(by_name.compiled().iterations(), 0);
  one.fit(rows(), options);
  for (Sequential* two : {&fresh, &trained}) {
    two->load_weights("m.weights.h5", {}, files);
    EXPECT_EQ(two->compiled().iterations(), 6);
    two->fit(rows(), options);
    EXPECT_EQ(two->get_weights(), one.get_weights());
  }
}

TEST(ModelFiles, SayWhichStateDoesNotFit) {
  MemoryFiles files;
  model(Adam()).save_weights("m.weights.h5", files);
  std::vector<std::string> said;
  const LogSink before =
      set_log_sink([&](LogLevel, std::string_view text) { said.emplace_back(text); });
  model(SGD()).load_weights("m.weights.h5", {}, files);
  // As many variables, in another order.
  model(RMSprop({.momentum = 0.5})).load_weights("m.weights.h5", {}, files);
  set_log_sink(before);
  ASSERT_EQ(said.size(), 2);
  const std::string state = "m.weights.h5: the optimizer's state has ";
  EXPECT_EQ(said[0], state + "10 variables where SGD has 2; it is left out");
  EXPECT_EQ(said[1], state +
                         "float32[2, 3] where RMSprop's dense_bias_velocity is float32[3]; it "
                         "is left out");
}

// Layers within models are held while a file is written, too.
TEST(ModelFiles, CountTheLayersOfNestedModels) {
  std::vector<Layer> layers = {Input({2})};
  for (int i = 0; i < 20; ++i) layers.push_back(Dense(2));
  Sequential flat(layers, "flat");
  const Symbol x = Input({2});
  const Model nested({x}, {flat.layer()(x)});
  EXPECT_GE(nested.bytes_to_save("m.keras"), flat.bytes_to_save("m.keras"));
}

// So is the text of operators and of each call of a layer that is shared, which have no weights.
TEST(ModelFiles, CountWhatIsCalled) {
  const Symbol x = Input({2});
  const Layer shared = Dense(2);
  const Model once({x}, {shared(x)}), called({x}, {shared(shared(shared(x)))}),
      added({x}, {shared(x) + x});
  for (const char* path : {"m.keras", "m.h5"}) {
    const size_t least = once.bytes_to_save(path);
    EXPECT_GE(called.bytes_to_save(path), least + 2 * 350);
    EXPECT_GE(added.bytes_to_save(path), least + 700);
  }
}

TEST(ModelFiles, SayWhatCannotBeSaved) {
  MemoryFiles files;
  Sequential sound({Input({2}), Dense(1)}), shapeless({Dense(1)});
  EXPECT_THROW(sound.save("m.onnx", files), Error);
  EXPECT_THROW(sound.save("m", files), Error);
  EXPECT_THROW(sound.save_weights("m.h5", files), Error);
  EXPECT_THROW(shapeless.save("m.keras", files), Error);
  sound.save_weights("m.weights.h5", files);
  EXPECT_THROW(shapeless.load_weights("m.weights.h5", {}, files), Error);
  EXPECT_THROW(load_model("m.weights.h5", {}, files), Error);
  EXPECT_THROW(load_model("absent.keras", {}, files), FileError);
}

}  // namespace
}  // namespace snug::testing

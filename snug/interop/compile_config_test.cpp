#include "snug/interop/compile_config.h"

#include <gtest/gtest.h>

#include "snug/base/error.h"
#include "snug/interop/network_config.h"
#include "snug/nn/dense.h"
#include "snug/nn/loss_list.h"

namespace snug {
namespace {

std::shared_ptr<Network> network(int outputs, const std::vector<std::string>& keys = {}) {
  const Symbol x = Input({4});
  Symbols ends;
  for (int i = 0; i < outputs; ++i)
    ends.push_back(Dense(2, {.name = "out" + std::to_string(i)})(x));
  auto network = Network::functional({x}, ends, "net");
  network->output_ends.keys = keys;
  if (!keys.empty()) network->output_ends.is_list = false;
  network->set_paths();
  return network;
}

CompileOptions read(const std::string& rest, const Network& network) {
  return read_compile(Json::parse(R"({"optimizer": "sgd")" + rest + "}"), network).value();
}

std::string refusal(const std::string& rest, const Network& network) {
  try {
    read(rest, network);
  } catch (const Error& error) {
    return error.what();
  }
  return "it was read";
}

TEST(CompileConfig, IsNothingWhereTheModelWasNotCompiled) {
  const auto one = network(1);
  EXPECT_FALSE(read_compile(Json(), *one).has_value());
  EXPECT_FALSE(read_compile(Json::object(), *one).has_value());
  EXPECT_FALSE(read_compile(Json{{"loss", "mse"}}, *one).has_value());
}

TEST(CompileConfig, ReadsEveryFormOfALoss) {
  const auto one = network(1), two = network(2), named = network(2, {"a", "b"});
  EXPECT_EQ(read(R"(, "loss": "mse")", *one).loss.losses()[0].word(), "mse");
  EXPECT_EQ(read(R"(, "loss": {"class_name": "function", "config": "mean_squared_error"})", *one)
                .loss.losses()[0]
                ->class_name(),
            "MeanSquaredError");
  EXPECT_EQ(
      read(R"(, "loss": {"class_name": "Huber", "config": {"name": "h", "delta": 2.0}})", *one)
          .loss.losses()[0]
          ->name,
      "h");
  EXPECT_EQ(read(R"(, "loss": ["mse", "mae"])", *two).loss.losses().size(), 2);
  const auto by_name = read(R"(, "loss": {"out1": "mae", "out0": "mse"})", *two).loss.losses();
  EXPECT_EQ(by_name[0].word(), "mse");
  EXPECT_EQ(by_name[1].word(), "mae");
  EXPECT_EQ(read(R"(, "loss": {"b": "mae", "a": "mse"})", *named).loss.losses()[1].word(), "mae");
  EXPECT_TRUE(read("", *one).loss.losses().empty());
}

TEST(CompileConfig, ReadsEveryFormOfMetrics) {
  const auto one = network(1), two = network(2);
  EXPECT_EQ(read(R"(, "metrics": ["accuracy", "mae"])", *one).metrics.size(), 2);
  EXPECT_EQ(read(R"(, "metrics": "mae")", *one).metrics.size(), 1);
  EXPECT_EQ(read(R"(, "metrics": [["mae", "mse"]])", *one).metrics.size(), 2);
  EXPECT_EQ(read(R"(, "metrics": {"out0": ["mae"]})", *one).metrics.size(), 1);
  const CompileOptions listed = read(R"(, "metrics": [["mae"], ["mse", "mae"]])", *two);
  ASSERT_EQ(listed.output_metrics.size(), 2);
  EXPECT_EQ(listed.output_metrics[1].size(), 2);
  const CompileOptions named = read(R"(, "metrics": {"out1": ["mse"]})", *two);
  ASSERT_EQ(named.output_metrics.size(), 2);
  EXPECT_TRUE(named.output_metrics[0].empty());
  EXPECT_EQ(named.output_metrics[1].size(), 1);
  EXPECT_EQ(read(R"(, "weighted_metrics": ["mse"])", *one).weighted_metrics.size(), 1);
  EXPECT_EQ(read(R"(, "weighted_metrics": [["mse"]])", *one).weighted_metrics.size(), 1);
}

TEST(CompileConfig, ReadsMetricsThatKerasWrapped) {
  const auto one = network(1);
  const CompileOptions options =
      read(R"(, "metrics": [{"class_name": "MeanMetricWrapper", "config": {"name": "error",
              "fn": {"class_name": "function", "config": "mean_absolute_error"}}}])",
           *one);
  ASSERT_EQ(options.metrics.size(), 1);
  EXPECT_EQ(options.metrics[0].name(), "error");
  EXPECT_EQ(options.metrics[0]->class_name(), "MeanAbsoluteError");
}

TEST(CompileConfig, ReadsWeightsOfLosses) {
  const auto one = network(1), two = network(2);
  EXPECT_EQ(read(R"(, "loss_weights": [0.5, 2])", *two).loss_weights,
            (std::vector<double>{0.5, 2}));
  EXPECT_EQ(read(R"(, "loss_weights": {"out1": 2, "out0": 0.5})", *two).loss_weights,
            (std::vector<double>{0.5, 2}));
  EXPECT_EQ(read(R"(, "loss_weights": 3)", *one).loss_weights, std::vector<double>{3});
}

TEST(CompileConfig, RefusesByName) {
  const auto one = network(1), two = network(2);
  EXPECT_EQ(refusal(R"(, "loss": {"class_name": "CTC"})", *one),
            "the loss (CTC): Snug has no such loss");
  EXPECT_EQ(refusal(R"(, "metrics": [{"class_name": "Mine"}])", *one),
            "a metric (Mine): Snug has no such metric");
  EXPECT_EQ(refusal(R"(, "loss": ["mse"])", *two), "loss: there are 1 of them for 2 outputs");
  EXPECT_EQ(refusal(R"(, "loss": {"out9": "mse"})", *two),
            "loss: it names the output \"out9\", which the model lacks");
  EXPECT_EQ(refusal(R"(, "loss": {"out0": "mse"})", *two),
            "an output has no loss; Snug trains every output");
  EXPECT_EQ(refusal(R"(, "loss_weights": ["x", 1])", *two), "loss_weights: \"x\" is no number");
  EXPECT_EQ(refusal(R"(, "metrics": 3)", *one), "the metrics are 3; Snug expects a list");
  EXPECT_EQ(refusal(R"(, "weighted_metrics": [["mse"], ["mae"]])", *two),
            "weighted_metrics: Snug has one list of them for all outputs");
}

TEST(CompileConfig, ReadsOptimizersWithTheirSchedules) {
  const Optimizer optimizer = read_optimizer(Json::parse(R"({"class_name": "SGD", "config": {
      "name": "sgd", "momentum": 0.9,
      "learning_rate": {"class_name": "ExponentialDecay", "config": {
        "initial_learning_rate": 0.1, "decay_steps": 10, "decay_rate": 0.5, "staircase": true,
        "name": "ExponentialDecay"}}}})"));
  EXPECT_FLOAT_EQ(optimizer->learning_rate_at(0), 0.1f);
  EXPECT_FLOAT_EQ(optimizer->learning_rate_at(10), 0.05f);
  EXPECT_EQ(write_optimizer(optimizer)["config"]["learning_rate"]["module"],
            "keras.optimizers.schedules");
  EXPECT_THROW(read_optimizer(Json::parse(R"({"class_name": "Ftrl", "config": {}})")), Error);
  EXPECT_THROW(read_optimizer(Json::parse(R"({"class_name": "SGD", "config": []})")), Error);
  EXPECT_THROW(read_optimizer(Json::parse(R"({"class_name": "SGD", "config": {"clipnorm": -1}})")),
               Error);
}

TEST(CompileConfig, IsWrittenInTheFormOfTheOutputs) {
  const auto one = network(1), two = network(2), named = network(2, {"a", "b"});
  const CompileOptions options{
      .optimizer = "adam", .loss = "mse", .loss_weights = {}, .metrics = {"accuracy"}};
  const OrderedJson single = write_compile(options, *one);
  EXPECT_EQ(single["loss"], "mse");
  EXPECT_EQ(single["metrics"], OrderedJson::array({"accuracy"}));
  EXPECT_EQ(single["weighted_metrics"], nullptr);
  EXPECT_EQ(write_compile(options, *two)["metrics"].dump(), R"([["accuracy"],["accuracy"]])");
  EXPECT_EQ(write_compile(options, *named)["metrics"].dump(),
            R"({"a":["accuracy"],"b":["accuracy"]})");
  CompileOptions several = options;
  several.loss = std::vector<Loss>{"mse", "mae"};
  several.loss_weights = {1, 2};
  EXPECT_EQ(write_compile(several, *two)["loss"].dump(), R"(["mse","mae"])");
  EXPECT_EQ(write_compile(several, *named)["loss"].dump(), R"({"a":"mse","b":"mae"})");
  EXPECT_EQ(write_compile(several, *named)["loss_weights"].dump(), R"({"a":1.0,"b":2.0})");
  const Json read_back = Json::parse(write_compile(several, *named).dump());
  EXPECT_EQ(write_compile(*read_compile(read_back, *named), *named),
            write_compile(several, *named));
}

// A list as long as there are outputs is by output, as Keras 3 takes it; Keras 2 took a plain one
// for every output.
TEST(CompileConfig, ReadsMetricsByOutput) {
  const auto one = network(1), two = network(2);
  const CompileOptions plain = read(R"(, "metrics": ["mae", "mse"])", *two);
  ASSERT_EQ(plain.output_metrics.size(), 2);
  EXPECT_TRUE(plain.metrics.empty());
  EXPECT_EQ(plain.output_metrics[1][0].name(), "mse");
  const CompileOptions absent = read(R"(, "metrics": [null, ["mse", "mae"]])", *two);
  EXPECT_TRUE(absent.output_metrics.at(0).empty());
  EXPECT_EQ(absent.output_metrics.at(1).size(), 2);
  const Json config = Json::parse(R"({"optimizer": "sgd", "metrics": ["mae", "mse"]})");
  EXPECT_EQ(read_compile(config, *two, /*before_keras_3=*/true)->metrics.size(), 2);
  EXPECT_EQ(read(R"(, "metrics": ["mae"])", *one).metrics.size(), 1);
}

TEST(CompileConfig, IsWrittenForEveryOutput) {
  const auto two = network(2), named = network(2, {"a", "b"});
  const CompileOptions options{.optimizer = "adam",
                               .loss = "mse",
                               .loss_weights = {1, 2},
                               .metrics = {"mae"},
                               .weighted_metrics = {"mse"},
                               .output_metrics = {{}, {"mape"}}};
  const OrderedJson written = write_compile(options, *two);
  EXPECT_EQ(written["loss"].dump(), R"(["mse","mse"])");
  EXPECT_EQ(written["metrics"].dump(), R"([["mae"],["mae","mape"]])");
  EXPECT_EQ(write_compile(options, *named)["loss"].dump(), R"({"a":"mse","b":"mse"})");
  EXPECT_EQ(write_compile(options, *named)["metrics"].dump(),
            R"({"a":["mae"],"b":["mae","mape"]})");
  const Json parsed = Json::parse(written.dump());
  EXPECT_EQ(read_compile(parsed, *two)->weighted_metrics.size(), 1);
  EXPECT_EQ(write_compile(*read_compile(parsed, *two), *two), written);
}

// Words as a run file has them: those of make_loss, which keeps no word.
TEST(CompileConfig, EveryLossIsReadBack) {
  const auto one = network(1);
  std::vector<std::string_view> words = loss_classes();
  words.insert(words.end(), {"mse", "mae", "mape", "msle", "bce", "kld", "crossentropy", "ce"});
  for (const std::string_view word : words) {
    for (const Loss& loss : {make_loss(word), Loss(std::string(word))}) {
      const OrderedJson written = write_compile({.loss = loss}, *one);
      const Json parsed = Json::parse(written.dump());
      EXPECT_EQ(read_compile(parsed, *one)->loss.losses()[0]->class_name(), loss->class_name());
      EXPECT_EQ(write_compile(*read_compile(parsed, *one), *one), written);
    }
  }
  // The only one that is a word for Keras too.
  EXPECT_EQ(write_compile({.loss = make_loss("ce")}, *one)["loss"], "crossentropy");
}

}  // namespace
}  // namespace snug

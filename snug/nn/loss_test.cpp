#include "snug/nn/loss.h"

#include <gtest/gtest.h>

#include <cmath>

#include "snug/ops/ops.h"
#include "snug/testing/check_op.h"

namespace snug {
namespace {

using testing::Doubles;
using testing::error_of;
using testing::to_bytes;

const Type kPredictions{DType::float32, {kRows, 3}};

// A loss of two rows of two steps, with what may stand beside it.
class LossRun {
 public:
  LossRun() : tracer_(graph_, true) {
    targets = graph_.input("t", {DType::float32, {kRows, 2, 1}});
    predictions = graph_.input("p", {DType::float32, {kRows, 2, 1}});
    weights = graph_.input("w", {DType::float32, {kRows, 1}});
    mask = graph_.input("m", {DType::boolean, {kRows, 2}});
  }

  // Of squared errors 1, 4 and 9, 16.
  double operator()(const std::string& reduction, Value with_weights, Doubles mask_bits = {}) {
    if (!mask_bits.empty()) tracer_.set_mask(predictions, mask);
    const Value loss =
        MeanSquaredError(reduction)->reduced(tracer_, targets, predictions, with_weights);
    std::vector<testing::Bytes> in = {
        to_bytes({0, 0, 0, 0}, DType::float32), to_bytes({1, 2, 3, 4}, DType::float32),
        to_bytes({1, 0.5}, DType::float32),
        to_bytes(mask_bits.empty() ? Doubles{1, 1, 1, 1} : mask_bits, DType::boolean)};
    if (tracer_.reads_rows()) in.push_back(to_bytes({2}, DType::float32));
    return testing::to_doubles(testing::run_graph(graph_, {loss}, in, {.rows = 2})[0],
                               DType::float32)[0];
  }

  Value targets, predictions, weights, mask;

 private:
  Graph graph_;
  Tracer tracer_;
};

double reduce(const std::string& reduction, bool weighted, const Doubles& mask = {}) {
  LossRun run;
  return run(reduction, weighted ? run.weights : Value(), mask);
}

TEST(Loss, Reductions) {
  EXPECT_FLOAT_EQ(reduce("sum", false), 30);
  EXPECT_FLOAT_EQ(reduce("mean", false), 7.5);
  EXPECT_FLOAT_EQ(reduce("sum_over_batch_size", false), 7.5);
  EXPECT_FLOAT_EQ(reduce("mean_with_sample_weight", false), 7.5);
  EXPECT_FLOAT_EQ(reduce("sum", true), 17.5);
  EXPECT_FLOAT_EQ(reduce("mean", true), 17.5 / 4);
  EXPECT_FLOAT_EQ(reduce("mean_with_sample_weight", true), 17.5 / 1.5)
      << "by the weights as they were given";
}

TEST(Loss, MaskedStepsDoNotCount) {
  const Doubles mask = {1, 0, 1, 1};
  EXPECT_FLOAT_EQ(reduce("sum", false, mask), 26);
  EXPECT_FLOAT_EQ(reduce("mean", false, mask), 26.0 / 3);
  EXPECT_FLOAT_EQ(reduce("mean", true, mask), 13.5 / 3) << "by the steps that count";
  EXPECT_FLOAT_EQ(reduce("mean_with_sample_weight", false, mask), 26.0 / 3);
  EXPECT_FLOAT_EQ(reduce("mean_with_sample_weight", true, mask), 13.5 / 2);
  EXPECT_FLOAT_EQ(reduce("mean", false, {0, 0, 0, 0}), 0);
}

TEST(Loss, IgnoredClassesDoNotCount) {
  for (const auto& [labels, expected] :
       {std::pair<Doubles, double>{{0, -1, 1}, (0 + 2) / 2.0}, {{-1, -1, -1}, 0}}) {
    Graph graph;
    Tracer tracer(graph, true);
    const Value t = graph.input("t", {DType::int32, {kRows}});
    const Value p = graph.input("p", {DType::float32, {kRows, 2}});
    const Loss loss = SparseCategoricalCrossentropy({.from_logits = true, .ignore_class = -1});
    const Value result = loss->reduced(tracer, t, p, {});
    // Logits so far apart that a loss is their distance.
    const auto out = testing::run_graph(
        graph, {result},
        {to_bytes(labels, DType::int32), to_bytes({99, 0, 5, 5, 52, 50}, DType::float32)},
        {.rows = 3});
    EXPECT_NEAR(testing::to_doubles(out[0], DType::float32)[0], expected, 0.07);
  }
}

TEST(Loss, UsesTheLogitsOfAnActivation) {
  Graph graph;
  Tracer tracer(graph, true);
  const Value t = graph.input("t", {DType::int32, {kRows}});
  const Value logits = graph.input("x", {DType::float32, {kRows, 2}});
  const Value p = ops::softmax(logits);
  tracer.set_logits(p, {.from = Logits::From::softmax, .value = logits});
  const Value values = SparseCategoricalCrossentropy()->values(tracer, t, p);
  const auto out = testing::run_graph(
      graph, {values}, {to_bytes({1}, DType::int32), to_bytes({40, 0}, DType::float32)},
      {.rows = 1});
  EXPECT_EQ(testing::to_doubles(out[0], DType::float32)[0], 40) << "clipped, it would be 16.1";
}

double loss_of_logit(const Loss& loss, double logit, double target) {
  Graph graph;
  Tracer tracer(graph, true);
  const Value t = graph.input("t", {DType::float32, {kRows, 1}});
  const Value p = graph.input("p", {DType::float32, {kRows, 1}});
  const auto out = testing::run_graph(
      graph, {loss->values(tracer, t, p)},
      {to_bytes({target}, DType::float32), to_bytes({logit}, DType::float32)}, {.rows = 1});
  return testing::to_doubles(out[0], DType::float32)[0];
}

TEST(Loss, OfConfidentLogitsIsExact) {
  const Loss loss = BinaryCrossentropy({.from_logits = true});
  for (const double logit : {0.5, 10.0, 16.0, 30.0}) {
    const double wanted = std::log1p(std::exp(-logit));
    EXPECT_NEAR(loss_of_logit(loss, logit, 1), wanted, 1e-6 * wanted) << logit;
    EXPECT_NEAR(loss_of_logit(loss, -logit, 0), wanted, 1e-6 * wanted) << logit;
  }
}

TEST(Loss, FocalWithoutAFocusIsThePlainOne) {
  const Loss plain = BinaryCrossentropy({.from_logits = true});
  const Loss focal = BinaryFocalCrossentropy({.gamma = 0, .from_logits = true});
  for (const double logit : {-3.0, 0.0, 20.0})
    EXPECT_EQ(loss_of_logit(focal, logit, 1), loss_of_logit(plain, logit, 1));
}

TEST(Loss, RulesForTargetsByTheirShape) {
  const Loss loss("crossentropy");
  EXPECT_TRUE(loss->target_rule({DType::float32, {kRows, 1}}).is_probability);
  EXPECT_TRUE(loss->target_rule({DType::float32, {kRows, 3}}).is_distribution);
  EXPECT_FALSE(loss->target_rule({DType::int32, {kRows}}).is_probability);
}

TEST(Loss, ByWord) {
  const std::pair<const char*, std::string_view> words[] = {
      {"mse", "MeanSquaredError"},
      {"MSE", "MeanSquaredError"},
      {"mean_squared_error", "MeanSquaredError"},
      {"MeanSquaredError", "MeanSquaredError"},
      {"mae", "MeanAbsoluteError"},
      {"mape", "MeanAbsolutePercentageError"},
      {"msle", "MeanSquaredLogarithmicError"},
      {"bce", "BinaryCrossentropy"},
      {"kld", "KLDivergence"},
      {"kl_divergence", "KLDivergence"},
      {"huber", "Huber"},
      {"log_cosh", "LogCosh"},
      {"sparse_categorical_crossentropy", "SparseCategoricalCrossentropy"},
  };
  for (const auto& [word, class_name] : words) EXPECT_EQ(Loss(word)->class_name(), class_name);
  EXPECT_EQ(error_of([] { Loss("binary_crosentropy"); }),
            "there is no loss \"binary_crosentropy\"; did you mean \"binary_crossentropy\"?");
  EXPECT_EQ(error_of([] { make_loss("msr"); }), "there is no loss \"msr\"; did you mean \"mse\"?");
}

TEST(Loss, CrossentropyByShape) {
  const Loss loss = "crossentropy";
  const Type one{DType::float32, {kRows, 1}};
  EXPECT_EQ(loss->target_type(one, {}), one);
  EXPECT_EQ(loss->target_type(kPredictions, {}), (Type{DType::int32, {kRows}}));
  EXPECT_EQ(loss->target_type(kPredictions, {1}), (Type{DType::int32, {kRows}}));
  EXPECT_EQ(loss->target_type(kPredictions, {3}), kPredictions);
}

TEST(Loss, TargetsAreNotBroadcast) {
  const Loss loss = MeanSquaredError();
  const Type one{DType::float32, {kRows, 1}}, flat{DType::float32, {kRows}};
  EXPECT_EQ(loss->target_type(one, {}), one);
  EXPECT_EQ(loss->target_type(flat, {1}), flat);
  EXPECT_EQ(error_of([&] { loss->target_type(kPredictions, {1}); }),
            "mean_squared_error: a row of targets has the shape [1], a row of predictions [3]; "
            "they must be the same, as targets are not broadcast: numbers of classes go with "
            "sparse_categorical_crossentropy and sparse_categorical_accuracy, amounts with a last "
            "layer of 1 unit");
  EXPECT_EQ(error_of([&] { loss->target_type(one, {3}); }),
            "mean_squared_error: a row of targets has the shape [3], a row of predictions [1]; "
            "they must be the same, as targets are not broadcast: give the last layer 3 units, or "
            "change the targets");
  EXPECT_EQ(error_of([&] {
              loss->target_type(kPredictions, {2, 3});
            }),
            "mean_squared_error: a row of targets has the shape [2, 3], a row of predictions [3]; "
            "they must be the same, as targets are not broadcast: change the units of the last "
            "layer, or the targets");
}

TEST(Loss, LabelsAreWholeNumbers) {
  const Loss loss = SparseCategoricalCrossentropy();
  EXPECT_EQ(loss->target_type(kPredictions, {1}), (Type{DType::int32, {kRows}}));
  EXPECT_EQ(error_of([&] { loss->target_type(kPredictions, {3}); }),
            "sparse_categorical_crossentropy: a row of labels has the shape [3], a row of "
            "predictions [3]; give whole numbers of shape [], or use categorical_crossentropy for "
            "one-hot rows");
  EXPECT_EQ(error_of([&] {
              loss->target_type({DType::float32, {kRows}}, {});
            }),
            "sparse_categorical_crossentropy: predictions of shape [rows] have no axis of classes; "
            "give the last layer units");
}

TEST(Loss, NamesWhatIsWrong) {
  EXPECT_EQ(error_of([] { reduce("none", false); }),
            "mean_squared_error: the reduction \"none\" gives no single number to train on; use "
            "sum_over_batch_size, sum, mean or mean_with_sample_weight");
  EXPECT_EQ(error_of([] { BinaryCrossentropy({.label_smoothing = 2}); }),
            "label_smoothing is 2; it must be from 0 to 1");
  LossRun run;
  EXPECT_EQ(error_of([&] {
              run("mean", ops::concat({run.targets, run.targets}, 1));
            }),
            "mean_squared_error: weights of shape [rows, 4, 1] do not go with losses of shape "
            "[rows, 2]; give that shape, with 1 along the axes that a weight is for");
  EXPECT_EQ(error_of([&] { run("mean", ops::reshape(run.weights, {kRows})); }),
            "mean_squared_error: weights of shape [rows] do not go with losses of shape [rows, 2]; "
            "give that shape, with 1 along the axes that a weight is for");
}

}  // namespace
}  // namespace snug

#include "snug/nn/metric.h"

#include <gtest/gtest.h>

#include <cstring>

#include "snug/exec/program.h"
#include "snug/nn/loss_list.h"
#include "snug/nn/metrics.h"
#include "snug/ops/ops.h"
#include "snug/tensor/arena.h"
#include "snug/testing/check_op.h"

namespace snug {
namespace {

using testing::Doubles;
using testing::error_of;

// A metric at work on batches of one size; empty types stand for inputs that are not there.
class MetricRun {
 public:
  struct Inputs {
    std::optional<Shape> targets;
    Shape predictions;
    std::optional<Shape> weights, mask;
    DType target_dtype = DType::float32;
  };

  MetricRun(MetricPtr metric, const Inputs& inputs) : metric(std::move(metric)) {
    const Value targets =
        inputs.targets ? input("targets", {inputs.target_dtype, *inputs.targets}) : Value();
    const Value predictions = input("predictions", {DType::float32, inputs.predictions});
    const Value weights =
        inputs.weights ? input("weights", {DType::float32, *inputs.weights}) : Value();
    if (inputs.mask) tracer.set_mask(predictions, input("mask", {DType::boolean, *inputs.mask}));
    this->metric->update(tracer, targets, predictions, weights);
    allocate(this->metric->state(), 1);
    this->metric->reset();
  }

  // The inputs in order: targets, predictions, weights, mask.
  double operator()(int64_t rows, const std::vector<Doubles>& values) {
    Program program = make_program(graph, {}, rows, {.threads = 1});
    const Arena arena(std::max<size_t>(program.arena_bytes(), 64));
    std::vector<void*> outside(graph.value_count());
    for (const auto& [variable, value] : tracer.variables())
      outside[value.id()] = variable->tensor().data;
    program.bind(arena.data(), outside);
    for (size_t i = 0; i < values.size(); ++i) {
      const testing::Bytes bytes = testing::to_bytes(values[i], inputs_[i].dtype());
      std::memcpy(program.tensor(inputs_[i]).data, bytes.data(), bytes.size());
    }
    program.run({}, Program::Mode::checked);
    return metric->result();
  }

  MetricPtr metric;
  Graph graph;
  Tracer tracer{graph, true};

 private:
  Value input(const std::string& name, const Type& type) {
    inputs_.push_back(graph.input(name, type));
    return inputs_.back();
  }
  Values inputs_;
};

MetricPtr fresh(const Metric& metric) { return metric.definition()->fresh(); }

std::string_view accuracy_for(const Shape& predictions, const Shape& target_row) {
  return Metric("accuracy").resolve({DType::float32, predictions}, target_row)->class_name();
}

TEST(Metric, AccuracyByShape) {
  EXPECT_EQ(accuracy_for({kRows, 1}, {}), "BinaryAccuracy");
  EXPECT_EQ(accuracy_for({kRows, 1}, {1}), "BinaryAccuracy");
  EXPECT_EQ(accuracy_for({kRows}, {}), "BinaryAccuracy");
  EXPECT_EQ(accuracy_for({kRows, 3}, {}), "SparseCategoricalAccuracy");
  EXPECT_EQ(accuracy_for({kRows, 3}, {1}), "SparseCategoricalAccuracy");
  EXPECT_EQ(accuracy_for({kRows, 5, 3}, {5}), "SparseCategoricalAccuracy");
  EXPECT_EQ(accuracy_for({kRows, 3}, {3}), "CategoricalAccuracy");
}

TEST(Metric, NamesAreAsGiven) {
  const Type predictions{DType::float32, {kRows, 1}};
  EXPECT_EQ(Metric("acc").resolve(predictions, {})->name, "acc");
  EXPECT_EQ(Metric("AUC").resolve(predictions, {})->name, "AUC");
  EXPECT_EQ(Metric("mse").resolve(predictions, {})->name, "mse");
  EXPECT_EQ(metrics::AUC().resolve(predictions, {})->name, "auc");
  EXPECT_EQ(metrics::AUC({.name = "area"}).resolve(predictions, {})->name, "area");
  EXPECT_EQ(metrics::TopKCategoricalAccuracy().name(), "top_k_categorical_accuracy");
}

TEST(Metric, EachOutputHasItsOwn) {
  const Metric metric = "mae";
  const Type type{DType::float32, {kRows, 1}};
  const MetricPtr first = metric.resolve(type, {}), second = metric.resolve(type, {});
  EXPECT_NE(first, second);
  MetricRun run(first, {.targets = Shape{kRows, 1}, .predictions = {kRows, 1}});
  EXPECT_EQ(run(1, {{1}, {3}}), 2);
  EXPECT_EQ(second->result(), 0);
  EXPECT_TRUE(first->fresh()->state().empty());
}

TEST(Metric, AccuracyIsTwoNodes) {
  MetricRun run(fresh(metrics::SparseCategoricalAccuracy()),
                {.targets = Shape{kRows}, .predictions = {kRows, 2}, .target_dtype = DType::int32});
  EXPECT_EQ(run.graph.nodes().size(), 2u);
  EXPECT_EQ(run(4, {{0, 1, 1, 0}, {2, 1, 2, 1, 1, 2, 0, 0}}), 0.75);
  EXPECT_EQ(run(4, {{1, 0, 0, 0}, {2, 1, 2, 1, 1, 2, 0, 0}}), 0.625);
  run.metric->reset();
  EXPECT_EQ(run(2, {{0, 0}, {1, 0, 0, 1}}), 0.5);
}

// The class, which is not what the word stands for.
TEST(Metric, AccuracyOfClassesCountsWhatIsEqual) {
  MetricRun run(fresh(metrics::Accuracy()),
                {.targets = Shape{kRows, 2}, .predictions = {kRows, 2}});
  EXPECT_EQ(run.metric->name, "accuracy");
  EXPECT_EQ(run(2, {{1, 2, 3, 0}, {1, 2.5, 3, 0}}), 0.75);
  EXPECT_EQ(run(2, {{1, 1, 1, 1}, {0.9, 0, 2, 7}}), 0.375);
  EXPECT_EQ(metric_by_word("accuracy")->class_name(), "Accuracy");
  EXPECT_EQ(Metric("Accuracy").definition(), nullptr);
}

TEST(Metric, CountsStayRight) {
  MetricRun run(fresh(metrics::BinaryAccuracy()),
                {.targets = Shape{kRows, 1}, .predictions = {kRows, 1}});
  const std::span<double> sums = run.metric->state()[0]->tensor().as<double>();
  sums[0] = sums[1] = 1e12;
  run(3, {{1, 0, 1}, {0.9, 0.1, 0.2}});
  EXPECT_EQ(sums[0], 1e12 + 2);
  EXPECT_EQ(sums[1], 1e12 + 3);
}

TEST(Metric, MasksAreWeights) {
  for (const bool weighted : {false, true}) {
    MetricRun run(fresh(metrics::MeanAbsoluteError()),
                  {.targets = Shape{kRows, 2, 1},
                   .predictions = {kRows, 2, 1},
                   .weights = weighted ? std::optional(Shape{kRows}) : std::nullopt,
                   .mask = Shape{kRows, 2}});
    const Doubles mask = {1, 0, 1, 1};
    std::vector<Doubles> in = {{0, 0, 0, 0}, {1, 2, 3, 4}, mask};
    if (weighted) in.insert(in.begin() + 2, Doubles{1, 0.5});
    EXPECT_EQ(run(2, in), weighted ? 4.5 / 2 : 8.0 / 3);
  }
}

TEST(Metric, MeanOfAScalarByRows) {
  MetricRun run(fresh(metrics::Mean()), {.predictions = {}, .weights = Shape{}});
  EXPECT_EQ(run(1, {{2}, {3}}), 2);
  EXPECT_EQ(run(1, {{6}, {1}}), 3);
}

TEST(Metric, SumOfWeightedRows) {
  MetricRun run(fresh(metrics::Sum()), {.predictions = {kRows, 2}, .weights = Shape{kRows}});
  EXPECT_EQ(run(2, {{1, 2, 3, 4}, {1, 0.5}}), 6.5);
}

TEST(Metric, SeveralThresholdsInTheirOrder) {
  MetricRun run(fresh(metrics::TruePositives({.thresholds = {{0.8, 0.2, 0.5}}})),
                {.targets = Shape{kRows}, .predictions = {kRows}});
  run(4, {{1, 1, 1, 0}, {0.3, 0.6, 0.9, 1}});
  EXPECT_EQ(run.metric->results(), (Doubles{1, 3, 2}));
  EXPECT_EQ(run.metric->result(), 2) << "their mean";
}

TEST(Metric, FourCounts) {
  const std::pair<Metric, double> cases[] = {{metrics::TruePositives(), 1},
                                             {metrics::FalsePositives(), 2},
                                             {metrics::TrueNegatives(), 3},
                                             {metrics::FalseNegatives(), 4}};
  for (const auto& [metric, expected] : cases) {
    MetricRun run(fresh(metric), {.targets = Shape{kRows}, .predictions = {kRows}});
    EXPECT_EQ(run(10, {{1, 0, 0, 0, 0, 0, 1, 1, 1, 1}, {1, 1, 1, 0, 0, 0, 0, 0, 0, 0}}), expected)
        << metric.name();
  }
}

TEST(Metric, AucOfPredictionsOutsideTheirRange) {
  MetricRun run(fresh(metrics::AUC()), {.targets = Shape{kRows}, .predictions = {kRows}});
  EXPECT_NEAR(run(4, {{0, 1, 0, 1}, {-3, 4, 0.2, 0.7}}), 1, 1e-12);
}

TEST(Metric, AucOfLogits) {
  MetricRun run(fresh(metrics::AUC({.from_logits = true})),
                {.targets = Shape{kRows}, .predictions = {kRows}});
  EXPECT_NEAR(run(4, {{0, 1, 0, 1}, {-3, 4, 2, 1}}), 0.75, 1e-12);
}

TEST(Metric, NamesWhatIsWrong) {
  const Type predictions{DType::float32, {kRows, 3}};
  EXPECT_EQ(error_of([] { Metric("acuracy"); }),
            "there is no metric \"acuracy\"; did you mean \"accuracy\"?");
  EXPECT_NE(error_of([] { Metric("crossentropy"); }), "");
  EXPECT_EQ(error_of([&] { metrics::BinaryAccuracy()->target_type(predictions, {}); }),
            "binary_accuracy: a row of targets has the shape [], a row of predictions [3]; they "
            "must be the same, as targets are not broadcast: numbers of classes go with "
            "sparse_categorical_crossentropy and sparse_categorical_accuracy, amounts with a last "
            "layer of 1 unit");
  EXPECT_EQ(error_of([] {
              metrics::Precision({.thresholds = {{0.5, 2}}});
            }),
            "precision: a threshold is 2; thresholds are from 0 to 1");
  EXPECT_EQ(error_of([] { metrics::Recall({.top_k = 0}); }),
            "recall: top_k is 0; it must be at least 1");
  EXPECT_EQ(error_of([] { metrics::AUC({.curve = "roc curve"}); }),
            "auc: the curve is \"roc curve\"; it must be ROC or PR");
  EXPECT_EQ(error_of([] { metrics::AUC({.num_thresholds = 1}); }),
            "auc: num_thresholds is 1; give at least 2");
  EXPECT_EQ(error_of([] { metrics::TopKCategoricalAccuracy(0); }),
            "TopKCategoricalAccuracy: k is 0; it must be at least 1");
  EXPECT_EQ(error_of([] { metrics::F1Score({.average = "mean"}); }),
            "f1_score: average is \"mean\"; it must be micro, macro, weighted or left out");
  EXPECT_EQ(error_of([] {
              MetricRun(fresh(metrics::Precision({.class_id = 3})),
                        {.targets = Shape{kRows, 3}, .predictions = {kRows, 3}});
            }),
            "precision: class_id is 3, but predictions of shape [rows, 3] have no such class");
  EXPECT_EQ(error_of([] { metrics::SparseCategoricalCrossentropy({.label_smoothing = 0.1}); }),
            "sparse_categorical_crossentropy: labels cannot be smoothed; use "
            "categorical_crossentropy");
}

TEST(Metrics, TheMeanOfAFunction) {
  const Metric within = metrics::MeanMetricWrapper(
      [](Value targets, Value predictions) {
        const Value error = ops::abs(ops::subtract(targets, predictions));
        return ops::cast(ops::less(error, ops::constant(error.graph(), {}, 0.5F)), DType::float32);
      },
      "within_a_half");
  EXPECT_EQ(within.name(), "within_a_half");
  MetricRun run(within.resolve({DType::float32, {kRows}}, {}),
                {.targets = Shape{kRows}, .predictions = {kRows}, .weights = Shape{kRows}});
  EXPECT_FLOAT_EQ(run(3, {{1, 2, 3}, {1.25, 3, 3}, {1, 1, 2}}), 0.75);
  EXPECT_EQ(error_of([] { metrics::MeanMetricWrapper({}, "none"); }),
            "MeanMetricWrapper: the function is empty; give one");
}

// A metric that counts in whole numbers, from a first value of its own.
class Batches final : public MetricDefinition {
 public:
  Batches() { name = "batches"; }
  std::string_view class_name() const override { return "Batches"; }
  Type target_type(const Type& predictions, const Shape&) const override { return predictions; }
  void update(Tracer& tracer, Value, Value predictions, Value) override {
    count_ = add_state("count", {DType::int32, {}}, 5);
    const Value one = ops::constant(predictions.graph(), {}, 1);
    ops::assign_add(tracer.value(count_), ops::cast(one, DType::int32));
  }
  double result() const override { return count_->tensor().as<int32_t>()[0]; }

 private:
  VariablePtr count_;
};

TEST(Metrics, AStateOfWholeNumbers) {
  MetricRun run(std::make_shared<Batches>(), {.predictions = {kRows}});
  EXPECT_EQ(run(2, {{1, 2}}), 6);
  EXPECT_EQ(run(2, {{1, 2}}), 7);
  run.metric->reset();
  EXPECT_EQ(run.metric->result(), 5);
}

}  // namespace
}  // namespace snug

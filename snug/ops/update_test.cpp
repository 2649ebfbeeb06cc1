#include "snug/ops/update.h"

#include <gtest/gtest.h>

#include <cmath>

#include "snug/testing/commit_run.h"

namespace snug::ops {
namespace {

using testing::CommitRun;
using testing::Doubles;
using testing::error_of;

const UpdateRule kSgd{.kind = UpdateRule::Kind::sgd};
const UpdateRule kMomentum{.kind = UpdateRule::Kind::sgd, .momentum = 0.5};
const UpdateRule kAdam{.kind = UpdateRule::Kind::adam};

struct Model {
  Graph graph;
  UpdateOptions options;
  std::vector<UpdateSegment> segments;

  explicit Model(const UpdateRule& rule) {
    options = {.rule = rule,
               .learning_rate = graph.input("rate", {DType::float32, {}}),
               .iterations = graph.variable("iteration", {DType::int64, {}})};
    if (rule.has_product()) options.product = graph.variable("product", {DType::float32, {}});
  }

  UpdateSegment& add_weight(const Shape& shape) {
    const Type type{DType::float32, shape};
    segments.push_back({.weight = graph.variable("w", type), .gradient = graph.input("g", type)});
    for (int k = 0; k < options.rule.slots(); ++k) {
      segments.back().slots.push_back(graph.variable("slot", type));
    }
    return segments.back();
  }
};

TEST(Update, ChangesAllWeightsInOnePass) {
  Model model(kMomentum);
  model.add_weight({2});
  model.add_weight({2, 1}).decays = false;
  model.options.scales = model.graph.input("scales", {DType::float32, {2}});
  model.options.clip_value = 3;
  model.options.weight_decay = 0.5;
  const Value reach = update(model.segments, model.options);
  CommitRun run(model.graph, {reach});
  run.set(model.options.learning_rate, {0.5});
  run.set(model.options.iterations, {0});
  run.set(model.options.scales, {2, 1});
  run.set(model.segments[0].weight, {4, 8});
  run.set(model.segments[0].gradient, {1, -8});
  run.set(model.segments[0].slots[0], {0, 2});
  run.set(model.segments[1].weight, {4, -32});
  run.set(model.segments[1].gradient, {1, 2});
  run.set(model.segments[1].slots[0], {0, 0});
  run.run();
  // Gradients become 2 and -3 (clipped); the weights 3 and 6 by decay.
  EXPECT_EQ(run.get(model.segments[0].slots[0]), (Doubles{-1, 2.5}));
  EXPECT_EQ(run.get(model.segments[0].weight), (Doubles{2, 8.5}));
  EXPECT_EQ(run.get(model.segments[1].weight), (Doubles{3.5, -33}));
  EXPECT_EQ(run.get(reach), (Doubles{33, 2.5}));
}

TEST(Update, ShowsNan) {
  Model model(kAdam);
  model.add_weight({40});
  model.add_weight({3});
  const Value reach = update(model.segments, model.options);
  CommitRun run(model.graph, {reach});
  run.set(model.options.learning_rate, {0.5});
  run.set(model.segments[0].gradient, Doubles(40, 1));
  run.set(model.segments[1].gradient, {1, NAN, 1});
  run.run();
  for (const double largest : run.get(reach)) EXPECT_TRUE(std::isnan(largest));
}

Doubles waves(int64_t size, double pace) {
  Doubles values(size);
  for (int64_t i = 0; i < size; ++i) {
    values[i] = static_cast<float>(std::sin(pace * static_cast<double>(i)));
  }
  return values;
}

TEST(Update, ThreadsDoNotShow) {
  Model model(kAdam);
  for (const int64_t size : {70'001, 3, 40'000, 1}) model.add_weight({size});
  const Value reach = update(model.segments, model.options);
  std::vector<Doubles> results[2];
  for (const int threads : {1, 2}) {
    CommitRun run(model.graph, {reach}, threads);
    run.set(model.options.learning_rate, {0.5});
    run.set(model.options.iterations, {2});
    for (const UpdateSegment& segment : model.segments) {
      const int64_t size = segment.weight.shape().size();
      run.set(segment.weight, waves(size, 1));
      run.set(segment.gradient, waves(size, 2));
      run.set(segment.slots[0], waves(size, 3));
      run.set(segment.slots[1], Doubles(size, 0.25));
    }
    run.run(Program::Mode::plain);
    for (const UpdateSegment& segment : model.segments) {
      results[threads - 1].push_back(run.get(segment.weight));
      for (const Value& slot : segment.slots) results[threads - 1].push_back(run.get(slot));
    }
    results[threads - 1].push_back(run.get(reach));
  }
  EXPECT_EQ(results[0], results[1]);
}

// A table of six rows whose gradient lists up to three.
struct Table {
  Model model;
  Value sums = model.graph.input("sums", {DType::float32, {3, 2}});
  Value indices = model.graph.input("indices", {DType::int32, {3}});
  Value count = model.graph.input("count", {DType::int32, {1}});
  Value touched = model.graph.variable("touched", {DType::uint8, {6}});

  explicit Table(const UpdateRule& rule) : model(rule) {
    UpdateSegment& segment = model.add_weight({6, 2});
    segment.gradient = testing::listed_rows(sums, indices, count);
    segment.touched = touched;
  }
};

TEST(Update, MovesListedRowsAndThoseThatMovedBefore) {
  Table table(kMomentum);
  const UpdateSegment& segment = table.model.segments[0];
  const Value reach = update(table.model.segments, table.model.options);
  CommitRun run(table.model.graph, {reach});
  run.set(table.model.options.learning_rate, {1});
  run.set(segment.weight, Doubles(12, 8));
  // Row 3 counts as untouched, so its momentum is taken to be 0.
  run.set(segment.slots[0], {0, 0, 2, 2, 0, 0, 2, 2, 0, 0, 0, 0});
  run.set(table.touched, {0, 1, 0, 0, 0, 0});
  run.set(table.sums, {1, 2, 4, 4, NAN, NAN});
  run.set(table.indices, {4, 0, 1});
  run.set(table.count, {2});
  run.run();
  EXPECT_EQ(run.get(segment.weight), (Doubles{4, 4, 9, 9, 8, 8, 8, 8, 7, 6, 8, 8}));
  EXPECT_EQ(run.get(segment.slots[0]), (Doubles{-4, -4, 1, 1, 0, 0, 2, 2, -1, -2, 0, 0}));
  EXPECT_EQ(run.get(table.touched), (Doubles{1, 1, 0, 0, 1, 0}));
  EXPECT_EQ(run.get(reach), (Doubles{9, 4}));
}

TEST(Update, DecaysEveryRow) {
  Table table(kSgd);
  table.model.options.weight_decay = 0.5;
  update(table.model.segments, table.model.options);
  CommitRun run(table.model.graph, {});
  run.set(table.model.options.learning_rate, {1});
  run.set(table.model.segments[0].weight, Doubles(12, 8));
  run.set(table.sums, {1, 2, 0, 0, 0, 0});
  run.set(table.indices, {5, 0, 0});
  run.set(table.count, {1});
  run.run();
  EXPECT_EQ(run.get(table.model.segments[0].weight), (Doubles{4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 3, 2}));
}

TEST(Update, LeavesRowsAloneThatRest) {
  EXPECT_FALSE(wants_touched(kSgd, false));
  EXPECT_FALSE(wants_touched({.kind = UpdateRule::Kind::adagrad}, false));
  EXPECT_TRUE(wants_touched(kSgd, true));
  EXPECT_TRUE(wants_touched(kMomentum, false));
  EXPECT_TRUE(wants_touched({.kind = UpdateRule::Kind::rms_prop}, false));
}

TEST(Update, SaysWhatDoesNotFit) {
  Model model(kMomentum);
  UpdateSegment& segment = model.add_weight({3});
  Graph& graph = model.graph;
  const auto message = [&] { return error_of([&] { update(model.segments, model.options); }); };
  const UpdateSegment right = segment;
  segment.gradient = graph.input("h", {DType::float32, {4}});
  EXPECT_EQ(message(),
            "update: weight 0 is float32[3], its gradient float32[4]; they must be of one type");
  segment = right;
  segment.slots[0] = graph.variable("s", {DType::float32, {4}});
  EXPECT_EQ(message(),
            "update: weight 0 is float32[3], its slot 0 is float32[4]; they must be of one type");
  segment.slots.clear();
  EXPECT_EQ(message(), "update: w has 0 slots; the rule has 1");
  segment = right;
  segment.weight = graph.variable("v", {DType::int32, {3}});
  EXPECT_EQ(message(), "update: weight 0 is int32[3]; only float32 weights are trained");
  segment = right;
  segment.weight = graph.input("v", {DType::float32, {3}});
  EXPECT_EQ(message(), "update: input 2 (v) is written, but it is no variable");
  segment = right;
  model.options.scales = graph.input("scales", {DType::float32, {2}});
  EXPECT_EQ(message(), "update: the list of scales is float32[2]; it must be float32[1]");
  model.options.learning_rate = Value();
  EXPECT_EQ(message(), "update: the learning rate is missing; give a value float32[]");
  model.segments.clear();
  EXPECT_EQ(message(), "update: there is no weight; give at least one");
}

TEST(Update, SaysWhatDoesNotFitATable) {
  Table table(kMomentum);
  UpdateSegment& segment = table.model.segments[0];
  const auto message = [&] {
    return error_of([&] { update(table.model.segments, table.model.options); });
  };
  segment.touched = Value();
  EXPECT_EQ(message(), "update: w has a gradient of rows; give a variable for the touched rows");
  segment.touched = table.model.graph.variable("t", {DType::uint8, {7}});
  EXPECT_EQ(message(),
            "update: weight 0 is float32[6, 2], its touched rows uint8[7]; they must be uint8[6]");
  segment.weight = table.model.graph.variable("w", {DType::float32, {6, 3}});
  segment.slots[0] = table.model.graph.variable("s", {DType::float32, {6, 3}});
  EXPECT_EQ(message(),
            "update: weight 0 is float32[6, 3], its gradient lists rows float32[3, 2]; they must "
            "be as wide");
}

}  // namespace
}  // namespace snug::ops

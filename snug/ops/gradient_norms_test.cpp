#include <gtest/gtest.h>

#include <cmath>

#include "snug/ops/update.h"
#include "snug/testing/commit_run.h"

namespace snug::ops {
namespace {

using testing::CommitRun;
using testing::Doubles;
using testing::error_of;

TEST(GradientNorms, SumSquaresOfDenseAndListedRows) {
  Graph graph;
  const Value a = graph.input("a", {DType::float32, {2, 2}});
  const Value sums = graph.input("sums", {DType::float32, {3, 2}});
  const Value indices = graph.input("indices", {DType::int32, {3}});
  const Value count = graph.input("count", {DType::int32, {1}});
  const Value norms = gradient_norms({a, testing::listed_rows(sums, indices, count)});
  EXPECT_EQ(norms.type(), (Type{DType::float64, {2}}));
  CommitRun run(graph, {norms});
  run.set(a, {1, -2, 3, 4});
  run.set(sums, {1, 2, 3, 0, 1e20, NAN});
  run.set(indices, {7, 2, 0});
  run.set(count, {2});
  run.run();
  EXPECT_EQ(run.get(norms), (Doubles{30, 14}));
  run.set(count, {0});
  run.run();
  EXPECT_EQ(run.get(norms), (Doubles{30, 0}));
}

TEST(GradientNorms, TheLargestMagnitudeKeepsNan) {
  Graph graph;
  const Value a = graph.input("a", {DType::float32, {3}});
  const Value b = graph.input("b", {DType::float32, {2}});
  const Value largest = largest_magnitudes(gradient_norms({a, b}));
  CommitRun run(graph, {largest});
  run.set(a, {1, -3, 2});
  run.set(b, {1, -INFINITY});
  run.run();
  EXPECT_EQ(run.get(largest), (Doubles{3, INFINITY}));
  run.set(a, {1, NAN, INFINITY});
  run.run();
  EXPECT_TRUE(std::isnan(run.get(largest)[0]));
}

TEST(GradientNorms, ThreadsDoNotShow) {
  Graph graph;
  const Value a = graph.input("a", {DType::float32, {300'001}});
  const Value b = graph.input("b", {DType::float32, {5}});
  const Value norms = gradient_norms({b, a, b});
  Doubles elements(300'001);
  double sum = 0;
  for (size_t i = 0; i < elements.size(); ++i) {
    elements[i] = static_cast<float>(std::sin(static_cast<double>(i)));
    sum += elements[i] * elements[i];
  }
  std::vector<Doubles> results;
  for (const int threads : {1, 2}) {
    CommitRun run(graph, {norms}, threads);
    run.set(a, elements);
    run.set(b, {1, 1, 1, 1, 1});
    run.run(Program::Mode::plain);
    results.push_back(run.get(norms));
  }
  EXPECT_EQ(results[0], results[1]);
  EXPECT_NEAR(results[0][1], sum, 1e-7 * sum);
  EXPECT_EQ(results[0][2], 5);
}

TEST(GradientNorms, WantFloats) {
  Graph graph;
  const Value a = graph.input("a", {DType::int32, {2}});
  EXPECT_EQ(error_of([&] { gradient_norms({a}); }),
            "gradient_norms: a gradient is int32[2]; gradients are float32");
  EXPECT_EQ(error_of([&] { gradient_norms({}); }),
            "gradient_norms: there is no gradient; give at least one");
}

struct Clipped {
  Graph graph;
  Value squares = graph.input("squares", {DType::float64, {3}});
  Value scales;
  Clipped(double norm, bool global) : scales(clip_scales(squares, norm, global)) {}

  Doubles at(const Doubles& values) {
    CommitRun run(graph, {scales});
    run.set(squares, values);
    run.run();
    return run.get(scales);
  }
};

TEST(ClipScales, ClipEachNorm) {
  EXPECT_EQ(Clipped(2, false).at({16, 1, 0}), (Doubles{0.5, 1, 1}));
  const Doubles bad = Clipped(2, false).at({HUGE_VAL, NAN, 64});
  EXPECT_EQ(bad[0], 0);
  EXPECT_TRUE(std::isnan(bad[1]));
  EXPECT_EQ(bad[2], 0.25);
}

TEST(ClipScales, ClipTheNormOfAll) {
  EXPECT_EQ(Clipped(2, true).at({8, 4, 4}), (Doubles{0.5, 0.5, 0.5}));
  EXPECT_EQ(Clipped(2, true).at({1, 1, 1}), (Doubles{1, 1, 1}));
  EXPECT_EQ(Clipped(2, true).at({0, 0, 0}), (Doubles{1, 1, 1}));
  for (const double bad : {static_cast<double>(NAN), HUGE_VAL}) {
    for (const double scale : Clipped(2, true).at({1, bad, 1})) EXPECT_TRUE(std::isnan(scale));
  }
}

TEST(ClipScales, SayWhatDoesNotFit) {
  Graph graph;
  const Value x = graph.input("x", {DType::float32, {3}});
  EXPECT_EQ(error_of([&] { clip_scales(x, 1, false); }),
            "clip_scales: the norms are float32[3]; give what gradient_norms returns");
  EXPECT_EQ(error_of([&] { clip_scales(x, 0, false); }),
            "clip_scales: the norm to clip to is 0; it must be above 0");
}

}  // namespace
}  // namespace snug::ops

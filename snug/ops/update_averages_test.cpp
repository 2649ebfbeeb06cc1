#include <gtest/gtest.h>

#include <algorithm>

#include "snug/ops/update.h"
#include "snug/testing/commit_run.h"

namespace snug::ops {
namespace {

using testing::CommitRun;
using testing::Doubles;

struct Averaged {
  Graph graph;
  Value iterations = graph.variable("iteration", {DType::int64, {}});
  Value a = graph.variable("a", {DType::float32, {2}});
  Value b = graph.variable("b", {DType::float32, {1}});
  Value a_average = graph.variable("a_average", {DType::float32, {2}});
  Value b_average = graph.variable("b_average", {DType::float32, {1}});

  explicit Averaged(int64_t frequency) {
    update_averages({a, b}, {a_average, b_average},
                    {.iterations = iterations, .momentum = 0.75, .overwrite_frequency = frequency});
    advance(iterations);
  }
};

TEST(UpdateAverages, StartWithTheWeightsAndFollow) {
  Averaged averaged(0);
  CommitRun run(averaged.graph, {});
  run.set(averaged.iterations, {0});
  run.set(averaged.a, {8, -4});
  run.set(averaged.b, {1});
  run.set(averaged.a_average, {100, 100});
  run.set(averaged.b_average, {100});
  run.run();
  EXPECT_EQ(run.get(averaged.a_average), (Doubles{8, -4}));
  EXPECT_EQ(run.get(averaged.b_average), (Doubles{1}));
  run.set(averaged.a, {16, 0});
  run.run();
  EXPECT_EQ(run.get(averaged.a_average), (Doubles{10, -3}));
  EXPECT_EQ(run.get(averaged.a), (Doubles{16, 0}));
}

TEST(UpdateAverages, TakeTheWeightsPlaceNowAndThen) {
  Averaged averaged(3);
  CommitRun run(averaged.graph, {});
  run.set(averaged.iterations, {1});
  run.set(averaged.a, {16, 0});
  run.set(averaged.a_average, {8, -4});
  run.set(averaged.b, {4});
  run.set(averaged.b_average, {4});
  run.run();
  EXPECT_EQ(run.get(averaged.a), (Doubles{16, 0}));
  run.run();
  EXPECT_EQ(run.get(averaged.a_average), (Doubles{11.5, -2.25}));
  EXPECT_EQ(run.get(averaged.a), (Doubles{11.5, -2.25}));
}

TEST(UpdateAverages, ThreadsDoNotShow) {
  Graph graph;
  const Value iterations = graph.variable("iteration", {DType::int64, {}});
  const Value w = graph.variable("w", {DType::float32, {100'003}});
  const Value average = graph.variable("average", w.type());
  update_averages({w}, {average}, {.iterations = iterations, .momentum = 0.3});
  std::vector<Doubles> results;
  for (const int threads : {1, 2}) {
    CommitRun run(graph, {}, threads);
    Doubles start(100'003);
    for (size_t i = 0; i < start.size(); ++i) start[i] = static_cast<float>(i % 97) / 7;
    run.set(iterations, {5});
    run.set(w, start);
    std::ranges::reverse(start);
    run.set(average, start);
    run.run(Program::Mode::plain);
    results.push_back(run.get(average));
  }
  EXPECT_EQ(results[0], results[1]);
}

TEST(UpdateAverages, SayWhatDoesNotFit) {
  Graph graph;
  const Value iterations = graph.variable("iteration", {DType::int64, {}});
  const Value w = graph.variable("w", {DType::float32, {3}});
  const Value average = graph.variable("average", {DType::float32, {4}});
  EXPECT_EQ(testing::error_of([&] { update_averages({w}, {average}, {iterations}); }),
            "update_averages: weight 0 is float32[3], its average float32[4]; both must be float32 "
            "of one shape");
  EXPECT_EQ(testing::error_of([&] { update_averages({w}, {w}, {w}); }),
            "update_averages: the count of iterations is float32[3]; it must be int64[]");
  EXPECT_EQ(testing::error_of([&] { update_averages({w}, {}, {iterations}); }),
            "update_averages: 1 weights and 0 averages; give one for each weight");
}

}  // namespace
}  // namespace snug::ops

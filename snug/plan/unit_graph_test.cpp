#include "snug/plan/unit_graph.h"

#include <gtest/gtest.h>

#include "snug/plan/exhaustive.h"
#include "snug/plan/squeezer.h"
#include "snug/plan/timeline.h"

namespace snug {
namespace {

// y = conv(relu(norm(x))) in parts, where relu's result and y are read by later stages.
Problem two_results() {
  Problem problem;
  problem.stages = {{.parts = 64, .lanes = 1}, {}, {}};
  const auto value = [&](const char* name) {
    problem.values.push_back({.name = name, .bytes = 4096, .part_bytes = 64});
    return static_cast<int>(problem.values.size()) - 1;
  };
  const int x = value("x"), norm = value("norm"), relu = value("relu"), y = value("y");
  const int big = value("big"), last = value("last");
  problem.values[x].given = true;
  problem.values[x].bytes = 1024;
  problem.values[x].part_bytes = 16;
  problem.values[big].bytes = 8192;
  problem.values[last].bytes = 64;
  problem.values[last].pinned = true;
  problem.nodes = {{.name = "norm", .in = {x}, .out = {norm}, .cost_ns = 1},
                   {.name = "relu", .in = {norm}, .out = {relu}, .cost_ns = 1},
                   {.name = "conv", .in = {relu}, .out = {y}, .cost_ns = 100},
                   {.name = "big", .in = {y}, .out = {big}, .cost_ns = 10, .stage = 1},
                   {.name = "last", .in = {big, relu}, .out = {last}, .cost_ns = 10, .stage = 2}};
  return problem;
}

TEST(UnitGraph, APieceOfAStageMakesOneValueAgain) {
  const Problem problem = two_results();
  const UnitGraph graph(problem);
  EXPECT_EQ(graph.program_size, 3);
  const Unit& relu = graph.units[graph.producer[2]];
  EXPECT_EQ(relu.nodes, (std::vector<int>{0, 1}));
  EXPECT_EQ(relu.in, std::vector<int>{0});
  EXPECT_EQ(relu.cost_ns, 2);
  const Unit& conv = graph.units[graph.producer[3]];
  EXPECT_EQ(conv.nodes, std::vector<int>{2});
  EXPECT_EQ(conv.in, std::vector<int>{2});
  EXPECT_LE(relu.extra_bytes, graph.units[0].extra_bytes + 64);
}

// Of a node with two results, both read by later stages: the piece for either makes both.
TEST(UnitGraph, APieceCountsWhatItMakesForOthersOnce) {
  Problem problem{.values = {{.bytes = 4096, .part_bytes = 64, .given = true},
                             {.bytes = 4096, .part_bytes = 64},
                             {.bytes = 4096, .part_bytes = 64},
                             {.bytes = 4096, .part_bytes = 64},
                             {.bytes = 64, .pinned = true}},
                  .stages = {{.parts = 64, .lanes = 2}, {}}};
  problem.nodes = {{.in = {0}, .out = {1, 2}, .cost_ns = 1},
                   {.in = {1}, .out = {3}, .cost_ns = 1},
                   {.in = {1, 2, 3}, .out = {4}, .cost_ns = 1, .stage = 1}};
  const UnitGraph graph(problem);
  for (const int value : {1, 2}) {
    const Unit& piece = graph.units[graph.producer[value]];
    EXPECT_EQ(piece.out, (std::vector<int>{1, 2}));
    EXPECT_EQ(piece.extra_bytes, 0) << value;
  }
}

TEST(UnitGraph, ThePlanRunsTheCheapPieceOnly) {
  const Problem problem = two_results();
  Squeezer squeezer(problem);
  const int64_t free = squeezer.free_plan().arena_bytes;
  int found = 0;
  for (int64_t capacity = free - 64; capacity >= squeezer.least_bytes(); capacity -= 64) {
    const std::optional<Plan> plan = squeezer.plan(capacity, Effort::full);
    if (!plan) continue;
    validate(problem, *plan);
    EXPECT_LE(plan->arena_bytes, capacity);
    EXPECT_EQ(predicted_ns(problem, *plan), 122 + 2) << "norm and relu once more, not conv";
    ++found;
  }
  EXPECT_GT(found, 0);
}

// Of the places that a part has done with, a result is offered those of as many bytes.
// A search that tries all of them must know that these are not all.
TEST(UnitGraph, SaysThatAResultMayTakeMorePlacesThanItLists) {
  for (const int places : {4, 5}) {
    Problem problem{.stages = {{.parts = 4, .lanes = 2}, {.parts = 4, .lanes = 2}}};
    for (int v = 0; v < places + 2; ++v)
      problem.values.push_back({.bytes = 4096, .part_bytes = 1024, .pinned = v == places + 1});
    ProblemNode reader{.out = {places}, .stage = 1};
    for (int v = 0; v < places; ++v) {
      problem.nodes.push_back({.out = {v}, .stage = 0});
      reader.in.push_back(v);
    }
    problem.nodes.push_back(reader);
    problem.nodes.push_back({.in = {places}, .out = {places + 1}, .stage = 1});
    const UnitGraph graph(problem);
    EXPECT_EQ(graph.units[1].overwrites.size(), 4u);
    EXPECT_EQ(graph.units[1].overwrites_more, places > 4);
    EXPECT_EQ(search_exhaustively(graph, 1 << 20).complete, places == 4);
  }
}

TEST(UnitGraph, ResultsOfPartsMayTakeThePlacesOfWhatWasRead) {
  Problem problem{.values = {{.bytes = 4096, .part_bytes = 1024},
                             {.bytes = 4096, .part_bytes = 1024},
                             {.bytes = 4096, .part_bytes = 1024},
                             {.bytes = 64, .pinned = true}},
                  .stages = {{.parts = 4, .lanes = 2}, {.parts = 4, .lanes = 2}, {}}};
  problem.nodes = {{.out = {0}, .stage = 0},
                   {.in = {0}, .out = {1}, .stage = 1},
                   {.in = {1}, .out = {2}, .stage = 1},
                   {.in = {2}, .out = {3}, .stage = 2}};
  const UnitGraph graph(problem);
  ASSERT_EQ(graph.units[1].overwrites.size(), 1u);
  EXPECT_EQ(graph.units[1].overwrites[0].output, 0);
  EXPECT_EQ(graph.units[1].overwrites[0].input, 0);
  EXPECT_EQ(Timeline(graph, graph.program()).live()[1], 4096 + graph.units[1].extra_bytes);
  problem.nodes[2].in.push_back(0);  // Read by the node that makes the result.
  EXPECT_TRUE(UnitGraph(problem).units[1].overwrites.empty());
}

}  // namespace
}  // namespace snug

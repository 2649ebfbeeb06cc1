#include "snug/plan/executions.h"

#include <gtest/gtest.h>

#include "snug/plan/random_problem.h"
#include "snug/plan/timeline.h"

namespace snug {
namespace {

// What runs twice makes two values, and the later reader reads the newer one.
TEST(Executions, EachMakesAValueOfItsOwn) {
  Problem problem{.values = {{.bytes = 64, .given = true},
                             {.bytes = 640},
                             {.bytes = 64},
                             {.bytes = 64, .pinned = true}},
                  .stages = {{}}};
  problem.nodes = {{.in = {0}, .out = {1}, .cost_ns = 1},
                   {.in = {1}, .out = {2}, .cost_ns = 2},
                   {.in = {1, 2}, .out = {3}, .cost_ns = 3}};
  const UnitGraph graph(problem), unfolded = executions_of(graph, {0, 1, 0, 2});
  ASSERT_EQ(unfolded.units.size(), 4u);
  EXPECT_EQ(unfolded.program_size, 4);
  ASSERT_EQ(unfolded.bytes.size(), 5u);
  EXPECT_EQ(unfolded.units[1].in, unfolded.units[0].out);
  EXPECT_EQ(unfolded.units[3].in[0], unfolded.units[2].out[0]);
  EXPECT_NE(unfolded.units[2].out[0], unfolded.units[0].out[0]);
  EXPECT_EQ(unfolded.producer[unfolded.units[2].out[0]], 2);
  EXPECT_TRUE(unfolded.pinned[unfolded.units[3].out[0]]);
  EXPECT_EQ(unfolded.cost_ns(unfolded.program()), 7);
  EXPECT_EQ(Timeline(unfolded, unfolded.program()).peak(), Timeline(graph, {0, 1, 0, 2}).peak());
}

}  // namespace
}  // namespace snug

// Plans carried out on a picture of the arena, the parts of a stage in any order that lanes may run
// them in. Shares nothing with the planner and the validator.

#include <gtest/gtest.h>

#include <random>

#include "snug/base/error.h"
#include "snug/plan/plan.h"
#include "snug/plan/random_problem.h"

namespace snug {
namespace {

constexpr int64_t kCell = 64;

// Who has written each cell of 64 bytes last: a buffer, and which part of it.
class Picture {
 public:
  Picture(const Problem& problem, const Plan& plan, uint64_t seed)
      : problem_(problem), plan_(plan), cells_(plan.arena_bytes / kCell + 1), random_(seed) {
    for (size_t b = 0; b < plan.buffers.size(); ++b) {
      if (problem.values[plan.buffers[b].value].given && plan.buffers[b].first_step == 0)
        for (int part = 0; part < kParts; ++part) write(static_cast<int>(b), part, kParts, 0);
    }
  }

  // Whether every part found its rows of what it reads.
  bool run() {
    for (const PlanStage& stage : plan_.stages) run(stage);
    return is_right_;
  }

 private:
  static constexpr int kParts = 4;  // Of all stages in parts.

  // One step of one part after the other; whose turn it is falls by lot.
  void run(const PlanStage& stage) {
    const int runs = stage.parts, lanes = stage.lanes;
    std::vector<int> part(lanes), step(lanes, stage.first_step);
    for (int lane = 0; lane < lanes; ++lane) part[lane] = lane * runs / lanes;
    const auto has_more = [&](int lane) { return part[lane] < (lane + 1) * runs / lanes; };
    for (int left = runs * (stage.last_step - stage.first_step); left > 0; --left) {
      int lane = std::uniform_int_distribution<int>(0, lanes - 1)(random_);
      while (!has_more(lane)) lane = (lane + 1) % lanes;
      run(step[lane], part[lane], stage, lane);
      if (++step[lane] == stage.last_step) step[lane] = stage.first_step, ++part[lane];
    }
  }

  void run(int t, int part, const PlanStage& stage, int lane) {
    const int64_t base = stage.lane_offset + lane * stage.lane_bytes;
    for (const int b : plan_.steps[t].in)
      is_right_ = is_right_ && holds(b, part, stage.parts, base);
    for (const int b : plan_.steps[t].out) write(b, part, stage.parts, base);
  }

  struct Cell {
    int buffer = -1, part = -1;
    friend bool operator==(const Cell&, const Cell&) = default;
  };

  // The cells of a part's rows, or of all that has no rows, or of what is its lane's own.
  template <typename Visit>
  void each_cell(int b, int part, int parts, int64_t base, const Visit& visit) {
    const Buffer& buffer = plan_.buffers[b];
    const bool rows = problem_.values[buffer.value].part_bytes > 0;
    const int64_t begin = buffer.offset + (buffer.local ? base : 0);
    for (int64_t at = 0; at < buffer.bytes; at += kCell) {
      const int of = !rows          ? -1
                     : buffer.local ? part
                                    : static_cast<int>(at * kParts / buffer.bytes);
      if (parts == 1 || !rows || of == part) visit(cells_[(begin + at) / kCell], Cell{b, of});
    }
  }

  void write(int b, int part, int parts, int64_t base) {
    each_cell(b, part, parts, base, [](Cell& cell, const Cell& now) { cell = now; });
  }
  bool holds(int b, int part, int parts, int64_t base) {
    bool all = true;
    each_cell(b, part, parts, base,
              [&](Cell& cell, const Cell& wanted) { all = all && cell == wanted; });
    return all;
  }

  const Problem& problem_;
  const Plan& plan_;
  std::vector<Cell> cells_;
  std::mt19937_64 random_;
  bool is_right_ = true;
};

// A part of every value is whole cells.
Problem problem_in_cells(uint64_t seed) {
  Problem problem = testing::RandomProblem(seed).make();
  for (ProblemValue& value : problem.values) {
    if (value.part_bytes == 0) continue;
    value.part_bytes = (value.part_bytes + kCell - 1) / kCell * kCell;
    value.bytes = value.part_bytes * 4;
  }
  return problem;
}

// Results that stand where an earlier node of their stage in parts has read for the last time.
int shared_by_parts(const Problem& problem, const Plan& plan) {
  int count = 0;
  for (const PlanStage& stage : plan.stages) {
    for (const Buffer& out : plan.buffers) {
      if (stage.parts == 1 || out.local || out.bytes == 0 || out.first_step <= stage.first_step ||
          out.first_step >= stage.last_step || problem.values[out.value].part_bytes == 0)
        continue;
      for (const Buffer& in : plan.buffers) {
        count += !in.local && in.offset == out.offset && in.last_step < out.first_step &&
                 in.last_step >= stage.first_step && in.first_step < stage.first_step;
      }
    }
  }
  return count;
}

TEST(PartOrder, EveryPartFindsItsRowsWhoeverIsFirst) {
  int shared = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const Problem problem = problem_in_cells(seed);
    Plan plan = make_plan(problem, kUnlimited);
    shared += shared_by_parts(problem, plan);
    for (uint64_t order = 0; order < 3; ++order)
      ASSERT_TRUE(Picture(problem, plan, order).run()) << "seed " << seed << ", order " << order;
  }
  EXPECT_GT(shared, 50);
}

TEST(PartOrder, SoDoTheyWithinABudget) {
  int shared = 0, refused = 0;
  for (uint64_t seed = 0; seed < 120; ++seed) {
    const Problem problem = problem_in_cells(seed);
    const Plan whole = make_plan(problem, kUnlimited);
    try {
      const Plan plan = make_plan(problem, problem.persistent_bytes + whole.arena_bytes * 95 / 100);
      shared += shared_by_parts(problem, plan);
      ASSERT_TRUE(Picture(problem, plan, seed).run()) << "seed " << seed;
    } catch (const BudgetError&) {
      ++refused;
    }
  }
  EXPECT_GT(shared, 5);
  EXPECT_LT(refused, 100);
}

// That the picture sees what is wrong.
TEST(PartOrder, APlaceThatIsStillReadIsSeen) {
  Problem problem{.values = {{.bytes = 1024, .part_bytes = 256},
                             {.bytes = 1024, .part_bytes = 256},
                             {.bytes = 1024, .part_bytes = 256},
                             {.bytes = 64, .pinned = true}},
                  .stages = {{.parts = 4, .lanes = 2}, {.parts = 4, .lanes = 2}, {}}};
  problem.nodes = {{.out = {0}, .stage = 0},
                   {.in = {0}, .out = {1}, .stage = 1},
                   {.in = {1, 0}, .out = {2}, .stage = 1},
                   {.in = {2, 0}, .out = {3}, .stage = 2}};
  Plan plan = make_plan(problem, kUnlimited);
  EXPECT_TRUE(Picture(problem, plan, 0).run());
  plan.buffers[2].offset = plan.buffers[0].offset;
  EXPECT_FALSE(Picture(problem, plan, 0).run());
}

}  // namespace
}  // namespace snug

// Over random steps: every plan is valid, memory is what was planned, and no way of running changes
// the result.

#include "tests/engine/random_graph.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "snug/exec/program.h"
#include "snug/plan/fuse.h"

namespace snug {
namespace {

using testing::random_step;
using testing::RandomStep;
using testing::StepMemory;

// An arena of exactly so many bytes: the page behind it cannot be touched.
class ExactArena {
 public:
  explicit ExactArena(size_t bytes) : mapped_((bytes + kPage - 1) / kPage * kPage + kPage) {
    block_ = static_cast<std::byte*>(
        mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(block_ + mapped_ - kPage, kPage, PROT_NONE);
    // The end of the arena stands as near to the forbidden page as its alignment allows.
    begin_ = block_ + (mapped_ - kPage - bytes) / 64 * 64;
  }
  ~ExactArena() { munmap(block_, mapped_); }
  ExactArena(const ExactArena&) = delete;
  ExactArena& operator=(const ExactArena&) = delete;
  std::byte* begin() const { return begin_; }

 private:
  static constexpr size_t kPage = 4096;
  size_t mapped_;
  std::byte* block_;
  std::byte* begin_;
};

struct Outcome {
  float loss = 0;
  std::vector<std::vector<float>> variables;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

struct Way {
  bool fused = false;
  int threads = 1;
  int64_t part_rows = 0;
  Program::Mode mode = Program::Mode::plain;
  int steps = 2;
  int64_t budget_bytes = kUnlimited;
  bool one_lane = false;
  bool reproducible = false;
  bool narrow = false;
};

// How often a result stands where the parts of its stage have read for the last time, so far.
int shared_by_parts = 0;

void count_shared(const Plan& plan) {
  for (const PlanStage& stage : plan.stages) {
    const auto is_within = [&](int step) {
      return stage.parts > 1 && step >= stage.first_step && step < stage.last_step;
    };
    for (const Buffer& out : plan.buffers) {
      if (out.local || !is_within(out.first_step)) continue;
      shared_by_parts += std::ranges::any_of(plan.buffers, [&](const Buffer& in) {
        return !in.local && in.bytes > 0 && in.offset == out.offset && is_within(in.last_step) &&
               in.last_step < out.first_step;
      });
    }
  }
}

Outcome run(const RandomStep& step, int64_t rows, const Way& way) {
  std::unique_ptr<Graph> fused;
  if (way.fused) fused = fuse(*step.graph, {step.loss});
  const Graph& graph = way.fused ? *fused : *step.graph;
  InstantiateOptions options;
  options.partition.parts = way.part_rows > 0 || way.reproducible;
  options.partition.forced_part_rows = way.part_rows;
  options.partition.one_lane = way.one_lane;
  options.partition.reproducible = way.reproducible;
  options.partition.narrow = way.narrow;
  const Value loss(const_cast<Graph&>(graph), step.loss.id());
  Program program =
      make_program(graph, {loss}, rows, {.threads = way.threads}, way.budget_bytes, options);

  count_shared(program.plan());
  int64_t highest = 0;
  for (const Buffer& buffer : program.plan().buffers) {
    if (!buffer.local) highest = std::max(highest, buffer.offset + buffer.bytes);
  }
  EXPECT_LE(highest, program.plan().arena_bytes);

  StepMemory memory(graph, rows, 5);
  const ExactArena arena(program.arena_bytes());
  program.bind(arena.begin(), memory.outside);
  Outcome outcome;
  for (int repeat = 0; repeat < way.steps; ++repeat) {
    for (const int input : graph.of_source(Graph::Source::input)) {
      const Tensor slot = program.tensor(Value(const_cast<Graph&>(graph), input));
      std::memcpy(slot.data, memory.blocks[input].data(), slot.bytes());
    }
    program.run({.seed = 3, .epoch = 1, .position = static_cast<uint64_t>(repeat * rows)},
                way.mode);
  }
  if (way.steps > 0) outcome.loss = program.tensor(loss).as<float>()[0];
  for (const Value& variable : step.variables) {
    const float* begin = static_cast<const float*>(memory.outside[variable.id()]);
    outcome.variables.emplace_back(begin, begin + variable.shape().size());
  }
  return outcome;
}

// To rounding: a deep random graph amplifies it, so what counts is the size of the largest update.
void expect_near(const Outcome& a, const Outcome& b, const Outcome& start) {
  EXPECT_NEAR(a.loss, b.loss, 2e-4 * std::max(1.0f, std::abs(a.loss)));
  float largest = 0.1f;
  for (size_t i = 0; i < a.variables.size(); ++i) {
    for (size_t j = 0; j < a.variables[i].size(); ++j) {
      largest = std::max(largest, std::abs(a.variables[i][j] - start.variables[i][j]));
    }
  }
  for (size_t i = 0; i < a.variables.size(); ++i) {
    for (size_t j = 0; j < a.variables[i].size(); ++j) {
      ASSERT_NEAR(a.variables[i][j], b.variables[i][j], 1e-3 * largest)
          << "largest update " << largest;
    }
  }
}

// SNUG_RANDOM_GRAPHS sets their number; the sanitizers' runs take fewer.
int graph_count() {
  const char* asked = std::getenv("SNUG_RANDOM_GRAPHS");
  return asked != nullptr ? std::atoi(asked) : 300;
}

TEST(RandomGraphs, EveryWayOfRunningGivesTheSameResult) {
  for (int seed = 0; seed < graph_count(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const int nodes = std::uniform_int_distribution<int>(2, seed % 10 == 0 ? 120 : 30)(random);
    const int64_t rows = std::uniform_int_distribution<int64_t>(1, 17)(random);
    const RandomStep step = random_step(seed, nodes);
    const Outcome plain = run(step, rows, {});
    EXPECT_EQ(run(step, rows, {.mode = Program::Mode::checked}), plain) << "checked";
    EXPECT_EQ(run(step, rows, {.fused = true}), plain) << "fused";
    const Outcome parts = run(step, rows, {.fused = true, .threads = 2, .part_rows = 3});
    expect_near(parts, plain, run(step, rows, {.steps = 0}));
    EXPECT_EQ(run(step, rows,
                  {.fused = true, .threads = 2, .part_rows = 3, .mode = Program::Mode::checked}),
              parts)
        << "checked, in parts";
    EXPECT_EQ(run(step, rows, {.fused = true, .threads = 2, .part_rows = 3}), parts) << "twice";
    for (const auto mode : {Program::Mode::plain, Program::Mode::checked}) {
      const Way narrow{.fused = true, .threads = 2, .part_rows = 3, .mode = mode, .narrow = true};
      EXPECT_EQ(run(step, rows, narrow), parts) << "in narrow stages";
    }
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(shared_by_parts, graph_count() / 10);
}

// Large enough to be cut: sums over rows in a fixed tree, whatever else is the plan's.
TEST(RandomGraphs, ReproducibleStepsGiveTheSameBitsHoweverTheyAreCut) {
  for (int seed = 0; seed < graph_count() / 15; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    const int64_t rows = std::uniform_int_distribution<int64_t>(200, 700)(random);
    const RandomStep step = random_step(seed, 30);
    const Outcome plain = run(step, rows, {.fused = true, .threads = 2, .reproducible = true});
    for (const int threads : {1, 2, 3}) {
      for (const bool one_lane : {false, true}) {
        const Way way{.fused = true,
                      .threads = threads,
                      .part_rows = rows / (5 * threads),
                      .mode = threads == 2 ? Program::Mode::checked : Program::Mode::plain,
                      .one_lane = one_lane,
                      .reproducible = true};
        EXPECT_TRUE(run(step, rows, way) == plain) << threads << " threads, one lane: " << one_lane;
        Way narrow = way;
        narrow.narrow = true;
        EXPECT_TRUE(run(step, rows, narrow) == plain) << threads << " threads, narrow stages";
      }
    }
  }
}

// What an arena of a share of the bytes brings: nodes that run again.
TEST(RandomGraphs, RecomputingGivesTheSameBits) {
  int recomputed = 0, refused = 0;
  for (int seed = 0; seed < std::max(12, graph_count() / 15); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const RandomStep step = random_step(seed, 25);
    constexpr int64_t kBatch = 16;
    InstantiateOptions whole;
    whole.partition.parts = false;
    const auto plan_at = [&](int64_t budget) {
      return make_program(*step.graph, {step.loss}, kBatch, {}, budget, whole).plan();
    };
    const Plan plan = plan_at(kUnlimited);
    const Outcome plain = run(step, kBatch, {});
    for (const int percent : {90, 75, 60}) {
      const int64_t budget = plan.persistent_bytes + plan.arena_bytes * percent / 100;
      try {
        recomputed += plan_at(budget).steps.size() > plan.steps.size();
      } catch (const BudgetError&) {
        ++refused;
        continue;
      }
      EXPECT_EQ(run(step, kBatch, {.budget_bytes = budget}), plain) << percent << " %";
      EXPECT_EQ(run(step, kBatch, {.mode = Program::Mode::checked, .budget_bytes = budget}), plain)
          << percent << " %, checked";
    }
    if (::testing::Test::HasFailure()) return;
  }
  std::printf("%d plans with recomputed nodes, %d refused\n", recomputed, refused);
  EXPECT_GT(recomputed, 0);
}

}  // namespace
}  // namespace snug

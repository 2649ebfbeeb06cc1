// Whatever goes to the file, and whenever: the same bits as without.

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "snug/exec/program.h"
#include "snug/exec/spill_file.h"
#include "snug/plan/layout.h"
#include "snug/plan/spill_schedule.h"
#include "snug/plan/transfers.h"
#include "snug/tensor/arena.h"
#include "tests/engine/allocation_counter.h"
#include "tests/engine/random_graph.h"

namespace snug {
namespace {

using testing::random_step;
using testing::RandomStep;
using testing::StepMemory;

// The program's order, with values at random sent away and brought back before one of their
// readers.
std::vector<int> random_sequence(const UnitGraph& graph, std::mt19937_64& random) {
  const Timeline program(graph, graph.program());
  std::vector<std::vector<int>> before(program.length() + 1);
  for (int v = 0; v < static_cast<int>(graph.bytes.size()); ++v) {
    const int producer = graph.producer[v];
    if (producer < 0 || !is_read(graph.units[producer])) continue;
    const auto touches = program.touches(v);
    for (size_t i = 1; i < touches.size(); ++i) {
      const bool away = !touches[i].write && program.section(touches[i].position) == 0;
      if (away && random() % 2 == 0) before[touches[i].position].push_back(producer);
    }
  }
  std::vector<int> sequence;
  for (int p = 0; p <= program.length(); ++p) {
    sequence.insert(sequence.end(), before[p].begin(), before[p].end());
    if (p < program.length()) sequence.push_back(p);
  }
  return sequence;
}

Plan random_spill(const Problem& problem, std::mt19937_64& random) {
  UnitGraph plain(problem);
  std::vector<double> price(problem.values.size(), 0);
  for (size_t v = 0; v < price.size(); ++v) {
    const int producer = plain.producer[v];
    if (producer >= 0 && plain.units[producer].section == 0 && problem.values[v].bytes > 0)
      price[v] = static_cast<double>(random() % 2);
  }
  const UnitGraph graph = with_reads(problem, std::move(plain), price);
  const Timeline timeline(graph, random_sequence(graph, random));
  const DiskSpeed disk{.read = 0.01 * static_cast<double>(1 + random() % 100), .write = 1};
  const int64_t room =
      random() % 2 == 0 ? 0 : timeline.peak() + static_cast<int64_t>(random() % 9999);
  SpillSchedule spilled = spill_schedule(problem, timeline, room, disk).value();
  Plan plan = lay_out(with_transfers(problem, spilled.transfers), spilled.schedule, kUnlimited,
                      Aim::lowest);
  plan.transfers = std::move(spilled.transfers);
  plan.file_bytes = spilled.file_bytes;
  return plan;
}

struct Outcome {
  float loss = 0;
  std::vector<std::vector<float>> variables;
  int64_t transfers = 0;
  int64_t allocations = 0;
};

struct Way {
  bool spills = false;
  bool ring = true;
  int64_t part_rows = 0;
  Program::Mode mode = Program::Mode::plain;
};

Outcome run(const RandomStep& step, int64_t rows, uint64_t seed, const Way& way) {
  const Graph& graph = *step.graph;
  InstantiateOptions options;
  options.partition.parts = way.part_rows > 0;
  options.partition.forced_part_rows = way.part_rows;
  Instance instance = instantiate(graph, {step.loss}, rows, {.threads = 2}, options);
  std::mt19937_64 random(seed);
  Plan plan =
      way.spills ? random_spill(instance.problem, random) : make_plan(instance.problem, kUnlimited);
  add_transfers(instance, plan);
  Outcome outcome{.transfers = static_cast<int64_t>(plan.transfers.size())};
  Program program(graph, std::move(instance), std::move(plan));

  StepMemory memory(graph, rows, 5);
  const Arena arena(program.arena_bytes());
  SpillFile file(real_files(), spill_folder(real_files(), {}),
                 std::max<int64_t>(kPageBytes, program.plan().file_bytes), way.ring);
  program.bind(arena.data(), memory.outside, &file.queue());
  for (int repeat = 0; repeat < 3; ++repeat) {
    for (const int input : graph.of_source(Graph::Source::input)) {
      const Tensor slot = program.tensor(Value(const_cast<Graph&>(graph), input));
      std::memcpy(slot.data, memory.blocks[input].data(), slot.bytes());
    }
    testing::start_counting_allocations();
    program.run({.seed = 3, .epoch = 1, .position = static_cast<uint64_t>(repeat * rows)},
                way.mode);
    outcome.allocations = testing::stop_counting_allocations().count;
  }
  outcome.loss = program.tensor(step.loss).as<float>()[0];
  for (const Value& variable : step.variables) {
    const float* begin = static_cast<const float*>(memory.outside[variable.id()]);
    outcome.variables.emplace_back(begin, begin + variable.shape().size());
  }
  return outcome;
}

void expect_same(const Outcome& a, const Outcome& b, const char* what) {
  EXPECT_EQ(a.loss, b.loss) << what;
  EXPECT_EQ(a.variables, b.variables) << what;
}

TEST(SpilledSteps, RandomGraphsWithRandomChoicesGiveTheSameBits) {
  int64_t transfers = 0;
  for (uint64_t seed = 0; seed < 16; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const RandomStep step = random_step(seed, 2 + static_cast<int>(random() % 40));
    const int64_t rows = 1 + static_cast<int64_t>(random() % 17);
    const Outcome plain = run(step, rows, seed, {});
    const Outcome spilled = run(step, rows, seed, {.spills = true});
    expect_same(spilled, plain, "through a ring");
    transfers += spilled.transfers;
    expect_same(run(step, rows, seed + 1000, {.spills = true, .mode = Program::Mode::checked}),
                plain, "checked");
    expect_same(run(step, rows, seed + 2000, {.spills = true, .ring = false}), plain,
                "by a thread");
    const Outcome parts = run(step, rows, seed, {.part_rows = 3});
    expect_same(run(step, rows, seed + 3000,
                    {.spills = true, .part_rows = 3, .mode = Program::Mode::checked}),
                parts, "in parts");
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(transfers, 300);
}

TEST(SpilledSteps, AStepAllocatesNothing) {
  if (!testing::allocations_are_counted()) GTEST_SKIP() << "not counted in this build";
  const RandomStep step = random_step(4, 60);
  for (const bool ring : {true, false}) {
    const Outcome outcome = run(step, 16, 4, {.spills = true, .ring = ring});
    EXPECT_GT(outcome.transfers, 0);
    EXPECT_EQ(outcome.allocations, 0) << (ring ? "ring" : "thread");
  }
}

}  // namespace
}  // namespace snug

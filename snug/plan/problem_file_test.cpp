#include "snug/plan/problem_file.h"

#include <gtest/gtest.h>

#include <sstream>

#include "snug/base/error.h"
#include "snug/plan/random_problem.h"
#include "snug/plan/timeline.h"

namespace snug {
namespace {

Problem read(const std::string& text) {
  std::istringstream in(text);
  return read_problem(in, "p.txt");
}

std::string written(const Problem& problem) {
  std::ostringstream out;
  write_problem(problem, out);
  return out.str();
}

TEST(ProblemFile, WhatIsWrittenIsRead) {
  Problem problem = testing::training_chain(10, 4);
  for (ProblemNode& node : problem.nodes) node.scratch_bytes = 0;
  const Problem again = read(written(problem));
  ASSERT_EQ(again.nodes.size(), problem.nodes.size());
  ASSERT_EQ(again.values.size(), problem.values.size());
  for (size_t n = 0; n < problem.nodes.size(); ++n) {
    EXPECT_EQ(again.nodes[n].in, problem.nodes[n].in);
    EXPECT_EQ(again.nodes[n].out, problem.nodes[n].out);
    EXPECT_EQ(again.nodes[n].cost_ns, problem.nodes[n].cost_ns);
  }
  for (size_t v = 0; v < problem.values.size(); ++v) {
    EXPECT_EQ(again.values[v].bytes, problem.aligned(problem.values[v].bytes));
    EXPECT_EQ(again.values[v].given, problem.values[v].given);
    EXPECT_EQ(again.values[v].pinned, problem.values[v].pinned);
  }
}

// Stages, lanes and scratch included: what lives when is what the planner sees of the original.
TEST(ProblemFile, KeepsWhatLivesWhen) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Problem problem = testing::RandomProblem(seed).make();
    for (ProblemNode& node : problem.nodes) node.overwrites.clear();
    UnitGraph before(problem);
    const UnitGraph after(read(written(problem)));
    for (Unit& unit : before.units) unit.overwrites.clear();  // By parts: a file has no parts.
    ASSERT_EQ(after.program_size, before.program_size);
    EXPECT_EQ(Timeline(after, after.program()).live(), Timeline(before, before.program()).live());
    EXPECT_DOUBLE_EQ(after.cost_ns(after.program()), before.cost_ns(before.program()));
    EXPECT_EQ(written(read(written(problem))), written(problem));
  }
}

TEST(ProblemFile, ConstantThatIsNeverReleasedStays) {
  const Problem problem = read("1 3\n8 1 0 -1\n8 1 0 0\n8 0 1 -1\n5.5 2 0 1 1 2\n");
  EXPECT_TRUE(problem.values[0].pinned);
  EXPECT_FALSE(problem.values[1].pinned);
  EXPECT_EQ(problem.nodes[0].cost_ns, 5.5);
}

TEST(ProblemFile, MistakesNameTheLine) {
  const auto message = [](const std::string& text) {
    try {
      read(text);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(message("1 1\n"), "p.txt:2: the file ends too early");
  EXPECT_EQ(message("x"), "p.txt:1: expected the number of nodes");
  EXPECT_EQ(message("1 1\n8 0 0 -1\n1 1 7 0\n"), "p.txt:3: there is no value 7");
  EXPECT_EQ(message("1 1\n8 0 0 -1\n1 1 0 0\n"), "p.txt:3: value 0 is read before it is made");
  EXPECT_EQ(message("1 1\n8 1 0 -1\n1 0 1 0\n"), "p.txt:3: value 0 is constant, but is made");
  EXPECT_EQ(message("2 1\n8 0 0 -1\n1 0 1 0\n1 0 1 0\n"), "p.txt:4: value 0 is made twice");
  EXPECT_EQ(message("0 1\n-8 0 0 -1\n"), "p.txt:2: bytes cannot be negative");
  EXPECT_EQ(message("0 1\n8 2 0 -1\n"), "p.txt:2: expected constant (0 or 1), got 2");
  EXPECT_EQ(message("0 1\n8 0 0\n"), "p.txt:2: expected release");
  EXPECT_EQ(message("0 1\n8 0 0 -1 5\n"), "p.txt:2: there is more on the line than expected: '5'");
  EXPECT_EQ(message(std::string("0 1\n8 0 0 -1\0 5\n", 15)),
            "p.txt:2: there is more on the line than expected: ''");
  EXPECT_EQ(message("0 1\n99999999999999999999 0 0 -1\n"), "p.txt:2: expected bytes");
  EXPECT_EQ(message("0 2\n9000000000000000 0 0 -1\n9000000000000000 0 0 -1\n"),
            "p.txt:3: the values up to here have more than 9007199254740992 bytes");
  EXPECT_EQ(message("1 0\n-1 0 0\n"), "p.txt:2: a cost is between 0 and 1e+18 ns, got -1");
  EXPECT_EQ(message("1 0\nnan 0 0\n"), "p.txt:2: a cost is between 0 and 1e+18 ns, got nan");
  EXPECT_EQ(message("1 0\n1 -1 0\n"), "p.txt:2: the number of inputs cannot be negative");
  EXPECT_EQ(message("1 0\n1 9000000000000 0\n"), "p.txt:2: there is no value 0");
  EXPECT_EQ(message("0 0\n1 0 0\n"), "p.txt:2: the file goes on after its last node");
  EXPECT_EQ(message("0 1\n8 0 1 -1\n"), "p.txt: value 0 is pinned, but no node makes it");
  EXPECT_EQ(message("0 0\n\n"), "accepted");
}

}  // namespace
}  // namespace snug

#include "snug/plan/problem_file.h"

#include <gtest/gtest.h>

#include <sstream>

#include "snug/base/error.h"
#include "snug/plan/random_problem.h"

namespace snug {
namespace {

Problem read(const std::string& text) {
  std::istringstream in(text);
  return read_problem(in, "p.txt");
}

TEST(ProblemFile, WhatIsWrittenIsRead) {
  const Problem problem = testing::training_chain(10, 4);
  std::ostringstream out;
  write_problem(problem, out);
  const Problem again = read(out.str());
  ASSERT_EQ(again.nodes.size(), problem.nodes.size());
  ASSERT_EQ(again.values.size(), problem.values.size());
  for (size_t n = 0; n < problem.nodes.size(); ++n) {
    EXPECT_EQ(again.nodes[n].in, problem.nodes[n].in);
    EXPECT_EQ(again.nodes[n].out, problem.nodes[n].out);
    EXPECT_EQ(again.nodes[n].cost_ns, problem.nodes[n].cost_ns);
  }
  for (size_t v = 0; v < problem.values.size(); ++v) {
    EXPECT_EQ(again.values[v].bytes, problem.values[v].bytes);
    EXPECT_EQ(again.values[v].given, problem.values[v].given);
    EXPECT_EQ(again.values[v].pinned, problem.values[v].pinned);
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
    } catch (const DataError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  EXPECT_EQ(message("1 1\n"), "p.txt:2: the file ends too early");
  EXPECT_EQ(message("x"), "p.txt:1: expected the number of nodes");
  EXPECT_EQ(message("1 1\n8 0 0 -1\n1 1 7 0\n"), "p.txt:3: there is no value 7");
  EXPECT_EQ(message("1 1\n8 0 0 -1\n1 1 0 0\n"), "p.txt:3: value 0 is read before it is made");
  EXPECT_EQ(message("1 1\n8 1 0 -1\n1 0 1 0\n"), "p.txt:3: value 0 is made twice");
}

}  // namespace
}  // namespace snug

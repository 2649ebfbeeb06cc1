// Problems for tests: random graphs, and steps shaped like a net's forward and backward pass.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "snug/plan/problem.h"

namespace snug::testing {

class RandomProblem {
 public:
  explicit RandomProblem(uint64_t seed) : random_(seed) {}

  // 5 to 400 nodes with branches, stages with and without parts, overwrites, scratch, given and
  // pinned values.
  Problem make() {
    problem_ = {};
    problem_.persistent_bytes = pick(0, 5000);
    const int nodes = pick(0, 3) == 0 ? pick(5, 400) : pick(5, 60);
    for (int i = pick(1, 3); i > 0; --i) add_value(/*given=*/true);
    while (static_cast<int>(problem_.nodes.size()) < nodes) add_stage();
    return problem_;
  }

  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }

 private:
  int add_value(bool given) {
    const bool splits = pick(0, 3) > 0;
    const int64_t part = pick(0, 5) == 0 ? pick(1, 20000) : 64 * pick(1, 8);
    problem_.values.push_back({.name = fmt::format("v{}", problem_.values.size()),
                               .kind = static_cast<Kind>(pick(0, 6)),
                               .bytes = splits ? part * 4 : part,
                               .part_bytes = splits ? part : 0,
                               .given = given,
                               .pinned = pick(0, 15) == 0});
    return static_cast<int>(problem_.values.size()) - 1;
  }

  void add_stage() {
    const bool parts = pick(0, 2) == 0;
    problem_.stages.push_back({.parts = parts ? 4 : 1, .lanes = parts ? pick(1, 4) : 1});
    for (int i = pick(1, parts ? 8 : 12); i > 0; --i) add_node();
  }

  void add_node() {
    ProblemNode node{.name = fmt::format("n{}", problem_.nodes.size()),
                     .scratch_bytes = pick(0, 3) == 0 ? pick(1, 3000) : 0,
                     .cost_ns = static_cast<double>(pick(1, 1000)),
                     .stage = static_cast<int>(problem_.stages.size()) - 1,
                     .recomputable = pick(0, 20) > 0};
    const int known = static_cast<int>(problem_.values.size());
    for (int i = pick(1, 3); i > 0; --i) {
      node.in.push_back(pick(0, 4) == 0 ? pick(0, known - 1)
                                        : pick(std::max(0, known - 4), known - 1));
    }
    for (int i = pick(0, 5) == 0 ? 2 : 1; i > 0; --i) {
      const int value = add_value(/*given=*/false);
      if (pick(0, 1) == 0) copy_size(node.in[0], value);
      node.out.push_back(value);
    }
    for (int o = 0; o < static_cast<int>(node.out.size()); ++o) {
      for (int i = 0; i < static_cast<int>(node.in.size()); ++i) {
        if (pick(0, 1) == 0) node.overwrites.push_back({.output = o, .input = i});
      }
    }
    problem_.nodes.push_back(std::move(node));
  }

  void copy_size(int from, int to) {
    problem_.values[to].bytes = problem_.values[from].bytes;
    problem_.values[to].part_bytes = problem_.values[from].part_bytes;
  }

  std::mt19937_64 random_;
  Problem problem_;
};

// Two branches that grow and shrink, in a program that runs them side by side and needs both large
// values at once; one after the other they fit in kBranchAfterBranch.
inline constexpr int64_t kBranchAfterBranch = 64 + 640 + 64 + 64;
inline Problem two_branches() {
  Problem problem{.values = {{.bytes = 64, .given = true, .pinned = true},
                             {.bytes = 640},
                             {.bytes = 640},
                             {.bytes = 64},
                             {.bytes = 64},
                             {.bytes = 64, .pinned = true}},
                  .stages = {{}}};
  problem.nodes = {{.in = {0}, .out = {1}, .cost_ns = 1},
                   {.in = {0}, .out = {2}, .cost_ns = 1},
                   {.in = {1}, .out = {3}, .cost_ns = 1},
                   {.in = {2}, .out = {4}, .cost_ns = 1},
                   {.in = {3, 4}, .out = {5}, .cost_ns = 1}};
  return problem;
}

// A forward chain of `depth` layers and its backward pass: layer i reads what layer i - 1 made, its
// gradient reads that value again. Sizes vary like those of a convolutional net.
inline Problem training_chain(int depth, uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  Problem problem;
  problem.stages = {{}};
  const auto value = [&](std::string name, Kind kind, int64_t bytes) {
    problem.values.push_back({.name = std::move(name), .kind = kind, .bytes = bytes});
    return static_cast<int>(problem.values.size()) - 1;
  };
  std::vector<int> kept{value("x", Kind::input, 40000)};
  problem.values[0].given = true;
  for (int i = 0; i < depth; ++i) {
    const std::string name = fmt::format("layer{}", i);
    const int64_t bytes = 4096LL * pick(1, 16);
    const int out = value(name, Kind::activation, bytes);
    problem.nodes.push_back(
        {.name = name, .in = {kept.back()}, .out = {out}, .cost_ns = 100.0 * pick(1, 20)});
    problem.nodes.back().scratch_bytes = pick(0, 2) == 0 ? 1000 * pick(1, 20) : 0;
    kept.push_back(out);
  }
  int gradient = value("loss_gradient", Kind::gradient, problem.values[kept.back()].bytes);
  problem.nodes.push_back({.name = "loss",
                           .in = {kept.back()},
                           .out = {gradient},
                           .overwrites = {{0, 0}},
                           .cost_ns = 50});
  for (int i = depth - 1; i >= 0; --i) {
    const std::string name = fmt::format("layer{}", i);
    const int dw = value(name + "_dw", Kind::gradient, 512 * pick(1, 8));
    problem.values[dw].pinned = true;
    const int dx = value(name + "_dx", Kind::gradient, problem.values[kept[i]].bytes);
    problem.nodes.push_back(
        {.name = name + "_dw", .in = {kept[i], gradient}, .out = {dw}, .cost_ns = 100});
    problem.nodes.push_back({.name = name + "_dx",
                             .in = {kept[i], gradient},
                             .out = {dx},
                             .overwrites = {{0, 1}, {0, 0}},
                             .cost_ns = 100});
    gradient = dx;
  }
  return problem;
}

}  // namespace snug::testing

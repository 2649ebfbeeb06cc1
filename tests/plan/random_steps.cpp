#include "tests/plan/random_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <vector>

namespace snug::testing {
namespace {

class Maker {
 public:
  explicit Maker(uint64_t seed) : random_(seed) {
    problem_.stages = {{}};
    problem_.alignment = 1;
  }

  int pick(int low, int high) { return std::uniform_int_distribution<int>(low, high)(random_); }

  int value(int64_t bytes, bool given = false, bool pinned = false) {
    const int id = static_cast<int>(problem_.values.size());
    problem_.values.push_back(
        {.name = fmt::format("v{}", id), .bytes = bytes, .given = given, .pinned = pinned});
    return id;
  }

  void node(std::vector<int> in, std::vector<int> out, double cost_ns) {
    problem_.nodes.push_back({.name = fmt::format("n{}", problem_.nodes.size()),
                              .in = std::move(in),
                              .out = std::move(out),
                              .cost_ns = cost_ns});
  }

  int64_t bytes_of(int v) const { return problem_.values[v].bytes; }
  Problem take() { return std::move(problem_); }

 private:
  std::mt19937_64 random_;
  Problem problem_;
};

struct Layer {
  std::vector<int> in;
  int weight = -1, out = -1;
  double cost_ns = 0;
};

class StepMaker {
 public:
  StepMaker(uint64_t seed, int layers) : maker_(seed), layers_(layers), skips_(maker_.pick(0, 2)) {}

  Problem make() {
    int x = maker_.value(maker_.pick(1, 100), /*given=*/true, /*pinned=*/maker_.pick(0, 1) == 0);
    std::vector<int> made{x};
    for (int i = 0; i < layers_; ++i) made.push_back(x = forward(made));
    gradient_.assign(1000 + 20 * layers_, -1);
    const int loss = maker_.value(maker_.bytes_of(x));
    maker_.node({x}, {loss}, maker_.pick(1, 20));
    gradient_[x] = loss;
    for (int i = layers_ - 1; i >= 0; --i) backward(nodes_[i], i == 0);
    return maker_.take();
  }

 private:
  int forward(const std::vector<int>& made) {
    Layer layer{.in = {made.back()}, .cost_ns = static_cast<double>(maker_.pick(1, 100))};
    const int count = static_cast<int>(made.size());
    if (count > 2 && maker_.pick(0, 5) < skips_)
      layer.in.push_back(made[maker_.pick(std::max(1, count - 6), count - 2)]);
    if (maker_.pick(0, 2) == 0) layer.weight = maker_.value(maker_.pick(1, 50), true, true);
    layer.out = maker_.value(maker_.pick(1, 100));
    std::vector<int> in = layer.in;
    if (layer.weight >= 0) in.push_back(layer.weight);
    maker_.node(in, {layer.out}, layer.cost_ns);
    nodes_.push_back(layer);
    return layer.out;
  }

  void add_gradient(int v, int g) {
    if (gradient_[v] < 0) {
      gradient_[v] = g;
      return;
    }
    const int sum = maker_.value(maker_.bytes_of(v));
    maker_.node({gradient_[v], g}, {sum}, maker_.pick(1, 5));
    gradient_[v] = sum;
  }

  void backward(const Layer& layer, bool is_first) {
    const int dy = gradient_[layer.out];
    const bool reads_out = maker_.pick(0, 2) == 0;
    if (layer.weight >= 0) {
      const int dw = maker_.value(maker_.bytes_of(layer.weight), false, maker_.pick(0, 1) == 0);
      maker_.node({layer.in[0], dy}, {dw}, layer.cost_ns);
    }
    for (size_t i = 0; i < layer.in.size() && !is_first; ++i) {
      std::vector<int> in{dy, reads_out ? layer.out : layer.in[i]};
      if (layer.weight >= 0) in.push_back(layer.weight);
      const int dx = maker_.value(maker_.bytes_of(layer.in[i]));
      maker_.node(in, {dx}, layer.cost_ns);
      add_gradient(layer.in[i], dx);
    }
  }

  Maker maker_;
  int layers_, skips_;
  std::vector<Layer> nodes_;
  std::vector<int> gradient_;  // By value: that of it.
};

}  // namespace

Problem random_step(uint64_t seed, int layers) { return StepMaker(seed, layers).make(); }

Problem random_graph(uint64_t seed, int nodes) {
  Maker maker(seed ^ 0x5bd1e995);
  const int largest = maker.pick(0, 3) == 0 ? 4 : 200;
  std::vector<int> made;
  for (int i = maker.pick(1, 3); i > 0; --i)
    made.push_back(maker.value(maker.pick(0, largest), /*given=*/true, maker.pick(0, 1) == 0));
  for (int n = 0; n < nodes; ++n) {
    std::vector<int> in, out;
    const int known = static_cast<int>(made.size());
    for (int i = maker.pick(n == 0 ? 1 : 0, 3); i > 0; --i)
      in.push_back(made[maker.pick(maker.pick(0, 3) == 0 ? 0 : std::max(0, known - 5), known - 1)]);
    const int outs = maker.pick(0, 9) == 0 ? maker.pick(0, 2) : 1;
    for (int i = 0; i < outs; ++i)
      out.push_back(maker.value(maker.pick(0, largest), false, maker.pick(0, 9) == 0));
    made.insert(made.end(), out.begin(), out.end());
    maker.node(in, out, maker.pick(0, 9) == 0 ? 0 : maker.pick(1, 100));
  }
  return maker.take();
}

int64_t floor_of(const Problem& problem) {
  std::vector<int> last(problem.values.size(), -1);
  const int nodes = static_cast<int>(problem.nodes.size());
  int64_t end = 0;
  for (int n = 0; n < nodes; ++n) {
    for (const int v : problem.nodes[n].in) last[v] = n;
  }
  for (size_t v = 0; v < last.size(); ++v) {
    if (!problem.values[v].pinned) continue;
    last[v] = nodes;
    end += problem.values[v].bytes;
  }
  int64_t floor = end;
  std::vector<char> made(problem.values.size(), 0);
  for (int n = 0; n < nodes; ++n) {
    std::vector<char> there(problem.values.size(), 0);
    for (size_t v = 0; v < there.size(); ++v) {
      const ProblemValue& value = problem.values[v];
      there[v] = (value.given && (last[v] >= n || n == 0)) || (value.pinned && made[v]);
    }
    for (const int v : problem.nodes[n].out) made[v] = 1;
    for (const int v : problem.nodes[n].in) there[v] = 1;
    for (const int v : problem.nodes[n].out) there[v] = 1;
    int64_t bytes = 0;
    for (size_t v = 0; v < there.size(); ++v) bytes += there[v] ? problem.values[v].bytes : 0;
    floor = std::max(floor, bytes);
  }
  return floor;
}

int64_t peak_of(const Problem& problem) {
  const int nodes = static_cast<int>(problem.nodes.size());
  std::vector<int> first(problem.values.size(), 0), last(problem.values.size(), 0);
  for (int n = 0; n < nodes; ++n) {
    for (const int v : problem.nodes[n].out) first[v] = last[v] = n;
    for (const int v : problem.nodes[n].in) last[v] = n;
  }
  std::vector<int64_t> live(nodes + 2, 0);
  for (size_t v = 0; v < first.size(); ++v) {
    live[first[v]] += problem.values[v].bytes;
    live[(problem.values[v].pinned ? nodes : last[v]) + 1] -= problem.values[v].bytes;
  }
  int64_t sum = 0, peak = 0;
  for (const int64_t change : live) peak = std::max(peak, sum += change);
  return peak;
}

}  // namespace snug::testing

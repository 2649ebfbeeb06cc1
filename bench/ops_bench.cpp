// Every op's kernel on one thread beside the limits of the machine, measured in the same run:
// matrix products and convolutions beside the bare library call, the rest beside a memcpy within
// the same memory, turn by turn, or the peak of multiply-adds, whichever it meets first; and
// what a node costs beyond its kernel. Each with the goal that we set ourselves.
//   build/bench/ops_bench [WORD]     only the cases whose name has WORD in it

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "bench/bare_library.h"
#include "bench/machine_limits.h"
#include "bench/ops_cases.h"
#include "snug/autodiff/gradients.h"
#include "snug/base/error.h"
#include "snug/exec/program.h"
#include "snug/ops/ops.h"
#include "snug/optim/optimizer.h"
#include "snug/tensor/arena.h"

namespace snug::bench {
namespace {

constexpr DType kFloat = DType::float32;

// Of the bare library call, and of the bandwidth of a copy.
constexpr double kGoalOfLibrary = 0.95, kGoalOfCopy = 0.8;
// What moves less stays in the caches, where the bandwidth of a copy says nothing.
constexpr double kCachedBytes = 1 << 20;

// One node's kernel on memory of its own, and a memcpy from one half of that memory to the other:
// it moves as many bytes as the node's values have, read and written, through the same pages.
class Bench {
 public:
  Bench(const Node& node, const OpCase& c) : node_(node), lowest_(c.lowest) {
    Types types = node.input_types();
    for (Type& type : types) type = type.at(kRowsHeld);
    kernel_ = node.op().kernel(types, {});
    kernel_->compile(1);
    cost_ = node.op().cost(types);
    place(types);
    scratch_ = Arena(kernel_->scratch_bytes() + 64);
    prepared_ = Arena(kernel_->prepared_bytes() + 64);
    run_ = {.in = in_.data(),
            .out = out_.data(),
            .scratch = scratch_.data(),
            .prepared = prepared_.data(),
            .step = &step_};
    if (kernel_->prepared_bytes() > 0) kernel_->prepare(run_, prepared_.data());
  }

  void run() const { kernel_->run(run_); }
  void copy() const { std::memcpy(block_.data() + half_, block_.data(), half_); }
  double copied() const { return 2.0 * static_cast<double>(half_); }
  const Cost& cost() const { return cost_; }

 private:
  // All values in one block, as in a program's arena. What is not float32 stands first: the copy
  // does not put floats there.
  void place(const Types& in) {
    Types all = in;
    for (const int value : node_.out()) all.push_back(node_.graph().type(value).at(kRowsHeld));
    std::vector<size_t> offsets(all.size());
    size_t end = 0;
    for (const bool floats : {false, true}) {
      for (size_t i = 0; i < all.size(); ++i) {
        if ((all[i].dtype == kFloat) != floats) continue;
        offsets[i] = end;
        end += (static_cast<size_t>(all[i].bytes()) + 63) / 64 * 64;
      }
    }
    block_ = Arena(end + 64);
    half_ = std::max<size_t>(end / 128 * 64, 64);
    block_.touch();
    for (size_t i = 0; i < all.size(); ++i) {
      std::byte* data = block_.data() + offsets[i];
      if (all[i].dtype == kFloat) fill(reinterpret_cast<float*>(data), all[i].shape.size());
      if (i < in.size())
        in_.push_back(data);
      else
        out_.push_back(data);
    }
  }

  void fill(float* data, int64_t count) const {
    for (int64_t i = 0; i < count; ++i) data[i] = static_cast<float>(i % 13) * 0.1f + lowest_;
  }

  const Node& node_;
  float lowest_;
  std::unique_ptr<Kernel> kernel_;
  Cost cost_;
  size_t half_ = 0;
  Arena block_, scratch_, prepared_;
  std::vector<const void*> in_;
  std::vector<void*> out_;
  StepInfo step_;
  Run run_;
};

struct Times {
  double node = 1e30, rival = 1e30;  // Nanoseconds.
};

// The least of stretches that take turns: other guests of a host come and go, and with them its
// bandwidth.
Times timed(const Bench& bench, const std::function<void()>& rival) {
  constexpr int kTurns = 20;
  const auto stretch = [](const auto& call) {
    double once = thread_ns();
    call();
    once = std::max(thread_ns() - once, 20.0);
    const auto calls = static_cast<int64_t>(std::clamp(2e6 / once, 1.0, 1e5));
    const double start = thread_ns();
    for (int64_t i = 0; i < calls; ++i) call();
    return (thread_ns() - start) / static_cast<double>(calls);
  };
  Times best;
  for (int turn = 0; turn < kTurns; ++turn) {
    best.node = std::min(best.node, stretch([&] { bench.run(); }));
    best.rival = std::min(best.rival, stretch(rival));
  }
  return best;
}

// Beside the bare library call where there is one, else beside the limit that it meets first.
struct Ratio {
  double value = 0;
  const char* of = "";
  double goal = 0;  // 0: none is set.
};

Ratio ratio_to_copy(const Cost& cost, double ns, double copy_rate, double peak) {
  const double copied = cost.bytes / ns / copy_rate, computed = cost.flops / ns / peak;
  if (computed > 2 * copied) return {computed, "peak"};
  return {copied, "copy", cost.bytes < kCachedBytes ? 0 : kGoalOfCopy};
}

void print(const Node& node, const OpCase& c, double peak) {
  const Bench bench(node, c);
  const Cost& cost = bench.cost();
  const std::function<void()> library = bare_library_call(node, c);
  const Times times = timed(
      bench, library ? library : [&] { bench.copy(); });
  const double ns = times.node, copy_rate = bench.copied() / times.rival;
  const Ratio ratio = library ? Ratio{times.rival / ns, "library", kGoalOfLibrary}
                              : ratio_to_copy(cost, ns, copy_rate, peak);
  std::printf("  %-34s %11.2f us  %7.1f GFLOP/s  %6.1f GB/s", std::string(node.op().name()).c_str(),
              ns / 1e3, cost.flops / ns, cost.bytes / ns);
  if (library)
    std::printf("  %20s", "");
  else
    std::printf("  (copy %5.1f GB/s)   ", copy_rate);
  std::printf("%5.2f of the %-7s", ratio.value, ratio.of);
  if (ratio.goal > 0)
    std::printf("  goal %.2f%s", ratio.goal, ratio.value < ratio.goal ? ", BELOW" : "");
  std::printf("\n");
}

void run(const OpCase& c, double peak) {
  Graph graph;
  Values inputs;
  for (const Type& type : c.inputs) inputs.push_back(graph.input("x", type));
  const Value y = c.build(inputs);
  if (c.gradient) gradients(y, graph.input("g", y.type()), inputs);
  std::printf("%s\n", c.name.c_str());
  for (const Node* node : graph.nodes()) print(*node, c, peak);
}

// Adam on ten million parameters, through the update node.
void run_adam(double peak) {
  constexpr int64_t kParameters = 10'000'000;
  Graph graph;
  const Value weight = graph.variable("w", {kFloat, {kParameters}});
  const Value gradient = graph.input("g", {kFloat, {kParameters}});
  Adam()->apply_gradients({gradient}, {weight});
  for (const Node* node : graph.nodes()) {
    if (node->op().name() == "update") print(*node, {}, peak);
  }
}

// A program of many nodes that do next to nothing: what each costs beyond its kernel.
void run_overhead() {
  constexpr int kNodes = 400;
  Graph graph;
  Value x = graph.input("x", {kFloat, {1}});
  for (int i = 0; i < kNodes; ++i) x = ops::reshape(x, i % 2 == 0 ? Shape{1, 1} : Shape{1});
  Program program = make_program(graph, {x}, 1, {});
  const Arena arena(program.arena_bytes() + 64);
  program.bind(arena.data(), std::vector<void*>(graph.value_count()));
  const double ns = best_ns([&] { program.run({}); });
  std::printf("overhead of a node in Program, its (empty) kernel included: %.3f us  goal 0.300%s\n",
              ns / kNodes / 1e3, ns / kNodes > 300 ? ", ABOVE" : "");
}

}  // namespace
}  // namespace snug::bench

int main(int argc, char** argv) {
  using namespace snug::bench;
  const std::string word = argc > 1 ? argv[1] : "";
  const double peak = peak_gflops();
  std::printf("this machine, one thread: %.1f GFLOP/s, copy of 32 MiB %.1f GB/s\n", peak,
              copy_gigabytes(8 << 20));
  for (const auto& cases : {streaming_cases(), arithmetic_cases()}) {
    for (const OpCase& c : cases) {
      if (c.name.find(word) != std::string::npos) run(c, peak);
    }
  }
  if (word.empty() || word == "adam") run_adam(peak);
  if (word.empty() || word == "overhead") run_overhead();
}

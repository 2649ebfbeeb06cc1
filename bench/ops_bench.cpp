// Every op's kernel beside the limits of the machine, measured in the same run:
// matrix products and convolutions beside the bare library call, the rest beside a memcpy within
// the same memory, turn by turn, or the peak of multiply-adds, whichever it meets first; and
// what a node costs beyond its kernel. Each with the goal that we set ourselves.
//   build/bench/ops_bench [--threads N] [WORD]     only the cases whose name has WORD in it
// On one thread, by the time of the processor; or on N, the copy too, by the clock (for a quiet
// machine), without products and convolutions.

#include <algorithm>
#include <chrono>
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
#include "snug/base/threads.h"
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
// Of all that is gone through before the same memory comes again: more than the last caches of
// today's processors, a hundred MiB and more of which serve one core.
constexpr size_t kBytesInTurn = size_t{512} << 20;

// One node's kernel on blocks of memory of its own, one after the other, and a memcpy from one half
// of a block to the other: it moves as many bytes as the node's values have, read and written,
// through the same pages.
class Bench {
 public:
  // `in_turn`: so much memory is gone through.
  Bench(const Node& node, const OpCase& c, int threads, size_t in_turn)
      : node_(node), lowest_(c.lowest), threads_(threads) {
    Types types = node.input_types();
    for (Type& type : types) type = type.at(kRowsHeld);
    kernel_ = node.op().kernel(types, {.threads = threads});
    kernel_->compile(1);
    cost_ = node.op().cost(types);
    place(types, in_turn);
    scratch_ = Arena(kernel_->scratch_bytes() + 64);
    prepared_ = Arena(kernel_->prepared_bytes() + 64);
    if (kernel_->prepared_bytes() > 0) kernel_->prepare(run_of(blocks_[0]), prepared_.data());
  }

  void run() { kernel_->run(run_of(next())); }
  void copy() {
    std::byte* data = next().memory.data();
    parallel_ranges(static_cast<int64_t>(half_), threads_, 64, [&](int64_t begin, int64_t end) {
      std::memcpy(data + half_ + begin, data + begin, end - begin);
    });
  }
  double copied() const { return 2.0 * static_cast<double>(half_); }
  const Cost& cost() const { return cost_; }

 private:
  struct Block {
    Arena memory;
    std::vector<const void*> in;
    std::vector<void*> out;
  };

  const Block& next() { return blocks_[turn_++ % blocks_.size()]; }
  Run run_of(const Block& block) {
    return {.in = block.in.data(),
            .out = block.out.data(),
            .scratch = scratch_.data(),
            .prepared = prepared_.data(),
            .step = &step_};
  }

  // All values in one block, as in a program's arena. What is not float32 stands first: the copy
  // does not put floats there.
  void place(const Types& in, size_t in_turn) {
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
    half_ = std::max<size_t>(end / 128 * 64, 64);
    blocks_.resize(cost_.bytes < kCachedBytes ? 1 : std::max<size_t>(in_turn / end, 1));
    for (Block& block : blocks_) {
      block.memory = Arena(end + 64);
      block.memory.touch();
      for (size_t i = 0; i < all.size(); ++i) {
        std::byte* data = block.memory.data() + offsets[i];
        if (all[i].dtype == kFloat) fill(reinterpret_cast<float*>(data), all[i].shape.size());
        if (i < in.size())
          block.in.push_back(data);
        else
          block.out.push_back(data);
      }
    }
  }

  void fill(float* data, int64_t count) const {
    for (int64_t i = 0; i < count; ++i) data[i] = static_cast<float>(i % 13) * 0.1f + lowest_;
  }

  const Node& node_;
  float lowest_;
  int threads_;
  std::unique_ptr<Kernel> kernel_;
  Cost cost_;
  size_t half_ = 0;
  size_t turn_ = 0;
  std::vector<Block> blocks_;
  Arena scratch_, prepared_;
  StepInfo step_;
};

struct Times {
  double node = 1e30, rival = 1e30;  // Nanoseconds.
};

double clock_ns() {
  return std::chrono::duration<double, std::nano>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// The least of stretches that take turns: other guests of a host come and go, and with them its
// bandwidth.
Times timed(Bench& bench, const std::function<void()>& rival, int threads) {
  constexpr int kTurns = 20;
  const auto now = [&] { return threads == 1 ? thread_ns() : clock_ns(); };
  const auto stretch = [&](const auto& call) {
    double once = now();
    call();
    once = std::max(now() - once, 20.0);
    const auto calls = static_cast<int64_t>(std::clamp(4e6 / once, 1.0, 1e5));
    const double start = now();
    for (int64_t i = 0; i < calls; ++i) call();
    return (now() - start) / static_cast<double>(calls);
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

struct Machine {
  int threads = 1;
  double peak = 0;  // GFLOP/s of so many threads.
};

void print(const Node& node, const OpCase& c, const Machine& machine) {
  const std::function<void()> library = bare_library_call(node, c);
  if (library && machine.threads > 1) return;
  Bench bench(node, c, machine.threads, library ? 0 : kBytesInTurn);
  const Cost& cost = bench.cost();
  const Times times = timed(
      bench, library ? library : [&] { bench.copy(); }, machine.threads);
  const double ns = times.node, copy_rate = bench.copied() / times.rival;
  const Ratio ratio = library ? Ratio{times.rival / ns, "library", kGoalOfLibrary}
                              : ratio_to_copy(cost, ns, copy_rate, machine.peak);
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

void run(const OpCase& c, const Machine& machine) {
  Graph graph;
  Values inputs;
  for (const Type& type : c.inputs) inputs.push_back(graph.input("x", type));
  const Value y = c.build(inputs);
  if (c.gradient) gradients(y, graph.input("g", y.type()), inputs);
  std::printf("%s\n", c.name.c_str());
  for (const Node* node : graph.nodes()) print(*node, c, machine);
}

// Adam on ten million parameters, through the update node.
void run_adam(const Machine& machine) {
  constexpr int64_t kParameters = 10'000'000;
  Graph graph;
  const Value weight = graph.variable("w", {kFloat, {kParameters}});
  const Value gradient = graph.input("g", {kFloat, {kParameters}});
  Adam()->apply_gradients({gradient}, {weight});
  for (const Node* node : graph.nodes()) {
    if (node->op().name() == "update") print(*node, {}, machine);
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
  Machine machine;
  std::string word;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument == "--threads" && i + 1 < argc)
      machine.threads = std::max(1, std::atoi(argv[++i]));
    else if (argument.starts_with("-") || !word.empty())
      return std::fputs("usage: ops_bench [--threads N] [WORD]\n", stderr), 2;
    else
      word = argument;
  }
  const double peak = peak_gflops();
  machine.peak = machine.threads * peak;
  std::printf("this machine, one thread: %.1f GFLOP/s, copy of 32 MiB %.1f GB/s\n", peak,
              copy_gigabytes(8 << 20));
  for (const auto& cases : {streaming_cases(), arithmetic_cases()}) {
    for (const OpCase& c : cases) {
      if (c.name.find(word) != std::string::npos) run(c, machine);
    }
  }
  if (word.empty() || word == "adam") run_adam(machine);
  if (word.empty() || word == "overhead") run_overhead();
}

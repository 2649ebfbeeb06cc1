// Each op's kernel on one thread beside the limits of the machine, measured in the same run:
// arithmetic against the peak of multiply-adds, the rest against the bandwidth of memcpy at the
// same size; matmul and convolution beside the bare library call; and what a node costs beyond its
// kernel.
//   build/bench/ops_bench [WORD]     only the cases whose name has WORD in it

#include <cstdio>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "bench/machine_limits.h"
#include "snug/autodiff/gradients.h"
#include "snug/base/error.h"
#include "snug/exec/program.h"
#include "snug/ops/ops.h"
#include "snug/optim/optimizer.h"
#include "snug/tensor/arena.h"

namespace snug::bench {
namespace {

constexpr int64_t kRowsHeld = 64;
constexpr DType kFloat = DType::float32;

struct Case {
  std::string name;
  Types inputs;
  std::function<Value(const Values&)> build;
  bool gradient = true;
};

Value self(Value (*op)(Value), const Values& in) { return op(in[0]); }

// Large enough to leave the caches: 64 rows of 128 Ki floats are 32 MiB.
std::vector<Case> streaming_cases() {
  const Type wide{kFloat, {kRows, 128 * 1024}}, rows256{kFloat, {kRows, 256, 256}};
  const Type image{kFloat, {kRows, 56, 56, 64}};
  const Type channels{kFloat, {64}};
  std::vector<Case> all = {
      {"add", {wide, wide}, [](const Values& in) { return ops::add(in[0], in[1]); }},
      {"add bias", {image, channels}, [](const Values& in) { return ops::add(in[0], in[1]); }},
      {"multiply", {wide, wide}, [](const Values& in) { return ops::multiply(in[0], in[1]); }},
      {"maximum", {wide, wide}, [](const Values& in) { return ops::maximum(in[0], in[1]); }, false},
      {"relu", {wide}, [](const Values& in) { return ops::relu(in[0]); }},
      {"tanh", {wide}, [](const Values& in) { return self(ops::tanh, in); }},
      {"sigmoid", {wide}, [](const Values& in) { return self(ops::sigmoid, in); }},
      {"gelu", {wide}, [](const Values& in) { return ops::gelu(in[0]); }},
      {"exp", {wide}, [](const Values& in) { return self(ops::exp, in); }},
      {"dropout",
       {wide},
       [](const Values& in) { return ops::dropout(in[0], {.rate = 0.5f, .stream = 1}); }},
      {"sum over rows",
       {wide},
       [](const Values& in) { return ops::sum(in[0], {.axes = {0}}); },
       false},
      {"sum of a row",
       {wide},
       [](const Values& in) { return ops::sum(in[0], {.axes = {1}}); },
       false},
      {"max of a row",
       {wide},
       [](const Values& in) { return ops::max(in[0], {.axes = {1}}); },
       false},
      {"softmax", {rows256}, [](const Values& in) { return ops::softmax(in[0]); }},
      {"layer_norm",
       {rows256, {kFloat, {256}}, {kFloat, {256}}},
       [](const Values& in) { return ops::layer_norm(in[0], {.gamma = in[1], .beta = in[2]}); }},
      {"max_pool2d", {image}, [](const Values& in) { return ops::max_pool2d(in[0], {}); }},
      {"average_pool2d", {image}, [](const Values& in) { return ops::average_pool2d(in[0], {}); }},
      {"transpose",
       {rows256},
       [](const Values& in) {
         return ops::transpose(in[0], {0, 2, 1});
       },
       false},
      {"concat", {rows256, rows256}, [](const Values& in) { return ops::concat(in, -1); }},
      {"embedding",
       {{kFloat, {10'000, 128}}, {DType::int32, {kRows, 200}}},
       [](const Values& in) { return ops::embedding(in[0], in[1]); },
       false},
  };
  return all;
}

std::vector<Case> arithmetic_cases() {
  const Type image{kFloat, {kRows, 28, 28, 32}};
  return {
      {"matmul 64x512x200",
       {{kFloat, {kRows, 200}}, {kFloat, {200, 512}}},
       [](const Values& in) { return ops::matmul(in[0], in[1]); }},
      {"matmul 64x1024x1024",
       {{kFloat, {kRows, 1024}}, {kFloat, {1024, 1024}}},
       [](const Values& in) { return ops::matmul(in[0], in[1]); }},
      {"conv2d 28x28x32-64",
       {image, {kFloat, {3, 3, 32, 64}}},
       [](const Values& in) { return ops::conv2d(in[0], in[1]); }},
      {"conv2d 1x1 28x28x32-128",
       {image, {kFloat, {1, 1, 32, 128}}},
       [](const Values& in) { return ops::conv2d(in[0], in[1]); }},
      {"depthwise 28x28x32",
       {image, {kFloat, {3, 3, 32, 1}}},
       [](const Values& in) { return ops::depthwise_conv2d(in[0], in[1]); }},
  };
}

// One node's kernel on memory of its own.
class Bench {
 public:
  explicit Bench(const Node& node) : node_(node) {
    Types types = node.input_types();
    for (Type& type : types) type = type.at(kRowsHeld);
    kernel_ = node.op().kernel(types, {});
    kernel_->compile(1);
    cost_ = node.op().cost(types);
    for (const Type& type : types) in_.push_back(filled(type));
    for (const int value : node.out())
      out_.push_back(filled(node.graph().type(value).at(kRowsHeld)));
    scratch_ = Arena(kernel_->scratch_bytes() + 64);
    prepared_ = Arena(kernel_->prepared_bytes() + 64);
    run_ = {.in = in_.data(),
            .out = out_.data(),
            .scratch = scratch_.data(),
            .prepared = prepared_.data(),
            .step = &step_};
    if (kernel_->prepared_bytes() > 0) kernel_->prepare(run_, prepared_.data());
  }

  double ns() const {
    return best_ns([&] { kernel_->run(run_); });
  }
  const Cost& cost() const { return cost_; }

 private:
  void* filled(const Type& type) {
    arenas_.emplace_back(type.bytes() + 64);
    if (type.dtype == kFloat) {
      float* data = reinterpret_cast<float*>(arenas_.back().data());
      for (int64_t i = 0; i < type.shape.size(); ++i)
        data[i] = static_cast<float>(i % 13) * 0.1f - 0.5f;
    } else {
      arenas_.back().touch();
    }
    return arenas_.back().data();
  }

  const Node& node_;
  std::unique_ptr<Kernel> kernel_;
  Cost cost_;
  std::vector<Arena> arenas_;
  std::vector<const void*> in_;
  std::vector<void*> out_;
  Arena scratch_, prepared_;
  StepInfo step_;
  Run run_;
};

struct Limits {
  double peak = peak_gflops();
  double copy = copy_gigabytes(8 << 20);
};

void print(const Node& node, const Limits& limits) {
  const Bench bench(node);
  const double ns = bench.ns();
  const double gflops = bench.cost().flops / ns, gigabytes = bench.cost().bytes / ns;
  const bool arithmetic = bench.cost().flops / limits.peak > 2 * bench.cost().bytes / limits.copy;
  std::printf("  %-38s %11.2f us  %7.1f GFLOP/s  %6.1f GB/s  %5.2f of the %s\n",
              std::string(node.op().name()).c_str(), ns / 1e3, gflops, gigabytes,
              arithmetic ? gflops / limits.peak : gigabytes / limits.copy,
              arithmetic ? "peak" : "copy");
}

void run(const Case& c, const Limits& limits) {
  Graph graph;
  Values inputs;
  for (const Type& type : c.inputs) inputs.push_back(graph.input("x", type));
  const Value y = c.build(inputs);
  if (c.gradient) gradients(y, graph.input("g", y.type()), inputs);
  std::printf("%s\n", c.name.c_str());
  for (const Node* node : graph.nodes()) print(*node, limits);
}

// Adam on ten million parameters, through the update node.
void run_adam(const Limits& limits) {
  constexpr int64_t kParameters = 10'000'000;
  Graph graph;
  const Value weight = graph.variable("w", {kFloat, {kParameters}});
  const Value gradient = graph.input("g", {kFloat, {kParameters}});
  Adam()->apply_gradients({gradient}, {weight});
  for (const Node* node : graph.nodes()) {
    if (node->op().name() == "update") print(*node, limits);
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
  std::printf("overhead of a node in Program, its (empty) kernel included: %.3f us\n",
              ns / kNodes / 1e3);
}

}  // namespace
}  // namespace snug::bench

int main(int argc, char** argv) {
  using namespace snug::bench;
  const std::string word = argc > 1 ? argv[1] : "";
  const Limits limits;
  std::printf("this machine, one thread: %.1f GFLOP/s, copy of 32 MiB %.1f GB/s\n", limits.peak,
              limits.copy);
  for (const auto& cases : {streaming_cases(), arithmetic_cases()}) {
    for (const Case& c : cases) {
      if (c.name.find(word) != std::string::npos) run(c, limits);
    }
  }
  if (word.empty() || word == "adam") run_adam(limits);
  if (word.empty() || word == "overhead") run_overhead();
}

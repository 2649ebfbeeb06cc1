#include "snug/exec/connect_magnitudes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "snug/exec/program.h"
#include "snug/graph/magnitude_notes.h"
#include "snug/ops/ops.h"
#include "snug/ops/update.h"
#include "snug/tensor/arena.h"

namespace snug {
namespace {

using ops::SumOrder;
using Doubles = std::vector<double>;

// A program whose inputs can be set and whose results can be read.
class Running {
 public:
  Running(Graph& graph, const Values& results, int threads = 1, int64_t rows = 1,
          const PartitionOptions& cut = {})
      : program_(make_program(graph, results, rows, {.threads = threads}, kUnlimited,
                              {.partition = cut})),
        arena_(program_.arena_bytes() + 64) {
    program_.bind(arena_.data(), std::vector<void*>(graph.value_count()));
  }
  void set(Value value, const Doubles& numbers) {
    std::ranges::copy(numbers, program_.tensor(value).as<float>().begin());
  }
  Doubles get(Value value) const {
    const Tensor tensor = program_.tensor(value);
    if (tensor.dtype() == DType::float32)
      return Doubles(tensor.as<float>().begin(), tensor.as<float>().end());
    return Doubles(tensor.as<double>().begin(), tensor.as<double>().end());
  }
  void run() { program_.run({}, Program::Mode::checked); }

 private:
  Program program_;
  Arena arena_;
};

// Gives 1, 1, ... and notes something else, which shows who was asked.
class Liar final : public Op {
 public:
  std::string_view name() const override { return "liar"; }
  Types infer(const Types& in) const override { return in; }
  Values gradient(const Node&, const Values&) const override { return {{}}; }
  Rows rows(const Types&) const override { return Rows::each; }
  Cost cost(const Types&) const override { return {}; }
  std::unique_ptr<Kernel> kernel(const Types& in, const Target&) const override {
    class Ones final : public Kernel, public NotesMagnitudes {
     public:
      explicit Ones(int64_t size) : size_(size) {}
      std::span<const NotedMagnitude> note_magnitudes() override { return notes_; }
      void run(const Run& run) const noexcept override { std::fill_n(run.output(), size_, 1.0f); }

     private:
      int64_t size_;
      std::vector<NotedMagnitude> notes_ = {{40, std::bit_cast<uint32_t>(5.0f)},
                                            {2, std::bit_cast<uint32_t>(6.0f)}};
    };
    return std::make_unique<Ones>(in[0].shape.size());
  }
};

Doubles norms_and_largest(SumOrder order) {
  Graph graph;
  const Value x = graph.input("x", {DType::float32, {4}});
  const Value norms = ops::gradient_norms({graph.add<Liar>({x}), x}, order);
  Running run(graph, {norms, ops::largest_magnitudes(norms)});
  run.set(x, {1, 2, -3, 0});
  run.run();
  Doubles all = run.get(norms);
  for (const double largest : run.get(ops::largest_magnitudes(norms))) all.push_back(largest);
  return all;
}

TEST(ConnectMagnitudes, NotesDoInsteadOfTheValue) {
  EXPECT_EQ(norms_and_largest(SumOrder::any), (Doubles{42, 14, 6, 3}));
}

TEST(ConnectMagnitudes, AFixedOrderIsThatOfThePass) {
  EXPECT_EQ(norms_and_largest(SumOrder::fixed), (Doubles{4, 14, 1, 3}));
}

// The product itself, on one thread and on two: what it notes is what the pass would find.
TEST(ConnectMagnitudes, OfTheGradientOfWeights) {
  for (const float special : {0.0f, 1e15f, INFINITY, NAN}) {
    for (const int threads : {1, 2}) {
      Graph graph;
      const Value x = graph.input("x", {DType::float32, {64, 200}});
      const Value dy = graph.input("dy", {DType::float32, {64, 512}});
      const Value gradient = ops::matmul(x, dy, {.transpose_a = true});
      const Value noted = ops::gradient_norms({gradient}, SumOrder::any);
      const Value found = ops::gradient_norms({gradient}, SumOrder::fixed);
      Running run(graph,
                  {noted, ops::largest_magnitudes(noted), found, ops::largest_magnitudes(found)},
                  threads);
      Doubles numbers(64 * 512);
      for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = std::sin(static_cast<double>(i));
      run.set(x, Doubles(numbers.begin(), numbers.begin() + 64 * 200));
      numbers[777] = special;
      run.set(dy, numbers);
      run.run();
      const double largest = run.get(ops::largest_magnitudes(noted))[0];
      if (std::isfinite(special)) {
        EXPECT_EQ(largest, run.get(ops::largest_magnitudes(found))[0]);
        EXPECT_NEAR(run.get(noted)[0] / run.get(found)[0], 1, 1e-5);
      } else {
        EXPECT_FALSE(std::isfinite(largest));
        EXPECT_FALSE(std::isfinite(run.get(noted)[0]));
      }
    }
  }
}

// A note of one part's product is none of the sum: where rows are cut, the pass looks at the whole.
TEST(ConnectMagnitudes, OfRowsInPartsAndInBlocks) {
  constexpr int64_t kAll = 64;
  const Doubles ones(kAll * 512, 1);
  for (const PartitionOptions& cut :
       {PartitionOptions{.parts = true, .forced_part_rows = 16, .one_lane = true},
        PartitionOptions{.parts = true, .forced_part_rows = 16},
        PartitionOptions{.parts = true, .reproducible = true},
        PartitionOptions{.parts = true, .forced_part_rows = 16, .reproducible = true}}) {
    for (const bool spoilt : {false, true}) {
      Graph graph;
      const Value x = graph.input("x", {DType::float32, {kRows, 200}});
      const Value dy = graph.input("dy", {DType::float32, {kRows, 512}});
      const Value norms =
          ops::gradient_norms({ops::matmul(x, dy, {.transpose_a = true})}, SumOrder::any);
      const Value largest = ops::largest_magnitudes(norms);
      Running run(graph, {norms, largest}, 2, kAll, cut);
      run.set(x, Doubles(ones.begin(), ones.begin() + kAll * 200));
      Doubles first_is_nan = ones;
      if (spoilt) first_is_nan[0] = NAN;
      run.set(dy, first_is_nan);
      run.run();
      if (spoilt) {
        EXPECT_TRUE(std::isnan(run.get(largest)[0]));
      } else {
        EXPECT_EQ(run.get(largest)[0], kAll);
        EXPECT_EQ(run.get(norms)[0], 200.0 * 512 * kAll * kAll);
      }
    }
  }
}

// What a kernel notes when it runs on some of the rows is not of all of them.
TEST(ConnectMagnitudes, AKernelThatRunsInPartsIsNotAsked) {
  Graph graph;
  const Value x = graph.input("x", {DType::float32, {kRows, 4}});
  const Value norms = ops::gradient_norms({graph.add<Liar>({x})}, SumOrder::any);
  Running run(graph, {norms}, 1, 8, {.parts = true, .forced_part_rows = 2, .one_lane = true});
  run.set(x, Doubles(32, 1));
  run.run();
  EXPECT_EQ(run.get(norms), Doubles{32});
}

}  // namespace
}  // namespace snug

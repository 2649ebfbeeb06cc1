// Whole training steps of an MLP and a CNN: nothing is allocated, the same bits come again, the
// loss falls.

#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>

#include "snug/autodiff/gradients.h"
#include "snug/exec/program.h"
#include "snug/kernels/onednn.h"
#include "snug/ops/ops.h"
#include "snug/plan/fuse.h"
#include "snug/tensor/arena.h"
#include "tests/engine/allocation_counter.h"
#include "tests/engine/random_graph.h"

namespace snug {
namespace {

// A step under construction: weights as they are asked for, the update at the end.
struct StepBuilder {
  Graph graph;
  Values weights;
  Value loss;

  Value weight(const Shape& shape) {
    weights.push_back(
        graph.variable("w" + std::to_string(weights.size()), {DType::float32, shape}));
    return weights.back();
  }
  Value dense(Value x, int64_t units) {
    return ops::matmul(x, weight({x.shape()[-1], units}), {.bias = weight({units})});
  }
  Value conv(Value x, int64_t filters) {
    return ops::conv2d(x, weight({3, 3, x.shape()[-1], filters}), {.bias = weight({filters})});
  }
  void finish(Value logits) {
    const Value labels = graph.input("labels", {DType::int32, {kRows}});
    loss = ops::sum(ops::sparse_softmax_cross_entropy(logits, labels));
    const Values gradients = snug::gradients(loss, weights);
    for (size_t i = 0; i < weights.size(); ++i) {
      ops::assign_add(weights[i], ops::multiply_scalar(gradients[i], -1e-3f));
    }
  }
};

void build_mlp(StepBuilder& step) {
  Value x = step.graph.input("x", {DType::float32, {kRows, 100}});
  x = ops::dropout(ops::relu(step.dense(x, 300)), {.rate = 0.2f, .stream = 1});
  step.finish(step.dense(ops::tanh(step.dense(x, 64)), 10));
}

void build_cnn(StepBuilder& step) {
  Value x = step.graph.input("x", {DType::float32, {kRows, 20, 20, 3}});
  x = ops::max_pool2d(ops::relu(step.conv(x, 16)), {.alone = true});
  x = ops::max_pool2d(ops::relu(step.conv(x, 32)), {});
  const Value mean = step.graph.variable("mean", {DType::float32, {32}});
  const Value variance = step.graph.variable("variance", {DType::float32, {32}});
  x = ops::batch_norm_training(x, mean, variance,
                               {.gamma = step.weight({32}), .beta = step.weight({32})});
  x = ops::reshape(x, {kRows, x.shape()[1] * x.shape()[2] * x.shape()[3]});
  step.finish(step.dense(x, 10));
}

// Convolutions that the library runs on every CPU, deep enough to recompute some.
void build_deep(StepBuilder& step) {
  Value x = step.graph.input("x", {DType::float32, {kRows, 12, 12, 16}});
  for (int i = 0; i < 8; ++i)
    x = ops::tanh(ops::conv2d(x, step.weight({1, 1, 16, 16}), {.bias = step.weight({16})}));
  step.finish(step.dense(ops::reshape(x, {kRows, 12 * 12 * 16}), 10));
}

// A bound program that runs on fixed data.
class BoundStep {
 public:
  BoundStep(const StepBuilder& step, int64_t rows, int threads, int64_t budget_bytes = kUnlimited,
            bool parts = true)
      : fused_(fuse(step.graph, {step.loss})),
        program_(make_program(*fused_, {loss_in(step)}, rows, {.threads = threads}, budget_bytes,
                              {.partition = {.parts = parts}})),
        memory_(*fused_, rows, 11),
        arena_(program_.arena_bytes()),
        loss_(loss_in(step)) {
    for (const int value : fused_->of_source(Graph::Source::variable)) {
      float* data = static_cast<float*>(memory_.outside[value]);
      const int64_t size = fused_->type(value).shape.size();
      for (int64_t i = 0; i < size; ++i) data[i] *= 0.1f;
    }
    program_.bind(arena_.data(), memory_.outside);
    for (const int input : fused_->of_source(Graph::Source::input)) {
      const Tensor slot = program_.tensor(Value(*fused_, input));
      if (slot.dtype() == DType::int32) {
        for (int64_t i = 0; i < rows; ++i) slot.as<int32_t>()[i] = static_cast<int32_t>(i * 7 % 10);
      } else {
        std::memcpy(slot.data, memory_.blocks[input].data(), slot.bytes());
      }
    }
  }

  float run(int step) {
    program_.run({.seed = 1, .position = static_cast<uint64_t>(step)});
    return program_.tensor(loss_).as<float>()[0];
  }
  std::vector<float> weights() const {
    std::vector<float> all;
    for (const int value : fused_->of_source(Graph::Source::variable)) {
      const float* data = static_cast<const float*>(memory_.outside[value]);
      all.insert(all.end(), data, data + fused_->type(value).shape.size());
    }
    return all;
  }
  const Program& program() const { return program_; }

 private:
  Value loss_in(const StepBuilder& step) { return Value(*fused_, step.loss.id()); }

  std::unique_ptr<Graph> fused_;
  Program program_;
  testing::StepMemory memory_;
  Arena arena_;
  Value loss_;
};

struct StepCase {
  const char* name;
  void (*build)(StepBuilder&);
};
constexpr StepCase kSteps[] = {{"mlp", build_mlp}, {"cnn", build_cnn}};
constexpr int64_t kBatch = 64;

TEST(Step, AllocatesNothing) {
  if (!testing::allocations_are_counted()) GTEST_SKIP() << "the sanitizer has a heap of its own";
  for (const StepCase& c : kSteps) {
    for (const int threads : {1, 2}) {
      StepBuilder step;
      c.build(step);
      BoundStep bound(step, kBatch, threads);
      for (int i = 0; i < 3; ++i) bound.run(i);
      testing::start_counting_allocations();
      for (int i = 0; i < 100; ++i) bound.run(i);
      const testing::Allocations made = testing::stop_counting_allocations();
      // oneDNN's own argument maps: at most 20 small blocks a call, and nothing of ours.
      int library_nodes = 0;
      for (const ProblemNode& node : bound.program().problem().nodes) {
        const bool library = node.name.find("conv2d") != std::string::npos ||
                             (onednn_wanted() && node.name.find("matmul") != std::string::npos);
        library_nodes += library ? 1 : 0;
      }
      std::printf(
          "%s, %d threads: %lld allocations of %lld bytes in 100 steps (%d nodes may call "
          "oneDNN)\n",
          c.name, threads, static_cast<long long>(made.count), static_cast<long long>(made.bytes),
          library_nodes);
      if (library_nodes == 0) {
        EXPECT_EQ(made.count, 0) << c.name;
      } else {
        EXPECT_LE(made.bytes, int64_t{made.count} * 512)
            << c.name << ": the library's blocks are small";
        EXPECT_LE(made.count, 100LL * library_nodes * 20 * 16) << c.name;
      }
    }
  }
}

// A node of the library that runs twice in a step is compiled once.
TEST(Step, GivesTheSameBitsWithConvolutionsRecomputed) {
  StepBuilder step;
  build_deep(step);
  BoundStep plain(step, kBatch, 1, kUnlimited, /*parts=*/false);
  const float loss = plain.run(0);
  int again = 0;
  for (double share = 0.9; share > 0; share -= 0.05) {
    const auto budget =
        static_cast<int64_t>(share * static_cast<double>(plain.program().arena_bytes()));
    try {
      BoundStep tight(step, kBatch, 1, budget, /*parts=*/false);
      std::set<int> seen;
      for (const PlanStep& planned : tight.program().plan().steps) {
        const std::string& name = tight.program().problem().nodes[planned.node].name;
        again += !seen.insert(planned.node).second && name.find("conv2d") != std::string::npos;
      }
      EXPECT_EQ(tight.run(0), loss);
      EXPECT_EQ(tight.weights(), plain.weights());
    } catch (const BudgetError&) {
      break;
    }
  }
  EXPECT_GT(again, 0);
}

TEST(Step, RefusesToRunInsideAParallelRegion) {
  StepBuilder step;
  build_mlp(step);
  BoundStep two(step, kBatch, 2), one(step, kBatch, 1);
  bool refused = false;
#pragma omp parallel num_threads(2)
  {
#pragma omp single
    {
      one.run(0);
      try {
        two.run(0);
      } catch (const Error& error) {
        refused = std::string(error.what()).find("inside a parallel region") != std::string::npos;
      }
    }
  }
  EXPECT_TRUE(refused);
}

TEST(Step, GivesTheSameBitsAgain) {
  for (const StepCase& c : kSteps) {
    for (const int threads : {1, 2}) {
      StepBuilder step;
      c.build(step);
      BoundStep first(step, kBatch, threads), second(step, kBatch, threads);
      for (int i = 0; i < 20; ++i) {
        ASSERT_EQ(first.run(i), second.run(i)) << c.name << ", step " << i;
      }
      EXPECT_EQ(first.weights(), second.weights()) << c.name;
    }
  }
}

TEST(Step, GivesTheSameBitsOnOneThreadAndTwo) {
  for (const StepCase& c : kSteps) {
    StepBuilder step;
    c.build(step);
    BoundStep one(step, kBatch, 1), two(step, kBatch, 2);
    for (int i = 0; i < 20; ++i) ASSERT_EQ(one.run(i), two.run(i)) << c.name << ", step " << i;
    EXPECT_EQ(one.weights(), two.weights()) << c.name;
  }
}

TEST(Step, LowersTheLoss) {
  for (const StepCase& c : kSteps) {
    StepBuilder step;
    c.build(step);
    BoundStep bound(step, kBatch, 2);
    const float before = bound.run(0);
    for (int i = 0; i < 60; ++i) bound.run(i);
    EXPECT_LT(bound.run(0), 0.9f * before) << c.name;
  }
}

TEST(Step, RunsNodeByNodeWithEveryValueReadable) {
  StepBuilder step;
  build_mlp(step);
  InstantiateOptions options;
  options.keep_all = true;
  Program program = make_program(step.graph, {step.loss}, 4, {}, kUnlimited, options);
  testing::StepMemory memory(step.graph, 4, 11);
  const Arena arena(program.arena_bytes());
  program.bind(arena.data(), memory.outside);
  int visited = 0;
  const auto visit = [&](const Node& node) {
    ++visited;
    for (const int value : node.out())
      EXPECT_NE(program.tensor(Value(step.graph, value)).data, nullptr);
  };
  program.compute_each({}, [&](const Node& node) {
    visit(node);
    EXPECT_FALSE(node.commits()) << node.label();
  });
  program.commit_each({}, [&](const Node& node) {
    visit(node);
    EXPECT_TRUE(node.commits()) << node.label();
  });
  EXPECT_GT(visited, 20);
}

TEST(Step, ProfilesEveryNode) {
  StepBuilder step;
  build_mlp(step);
  Program program = make_program(step.graph, {step.loss}, kBatch, {.threads = 2});
  testing::StepMemory memory(step.graph, kBatch, 11);
  const Arena arena(program.arena_bytes());
  program.bind(arena.data(), memory.outside);
  program.run({}, Program::Mode::profiled);
  ASSERT_EQ(program.profile().size(), program.problem().nodes.size());
  for (const NodeProfile& node : program.profile()) {
    EXPECT_GT(node.runs, 0) << node.name;
    EXPECT_GT(node.bytes, 0) << node.name;
  }
}

TEST(Step, IsRefusedBelowItsLeastBudget) {
  StepBuilder step;
  build_mlp(step);
  const int64_t needed = make_program(step.graph, {step.loss}, kBatch, {}).plan().total_bytes();
  EXPECT_NO_THROW(make_program(step.graph, {step.loss}, kBatch, {}, needed));
  EXPECT_THROW(make_program(step.graph, {step.loss}, kBatch, {}, needed / 4), BudgetError);
}

}  // namespace
}  // namespace snug

#include <gtest/gtest.h>

#include <cstring>

#include "snug/exec/program.h"
#include "snug/ops/ops.h"
#include "snug/tensor/arena.h"
#include "snug/testing/check_op.h"

namespace snug {
namespace {

using testing::Doubles;
using testing::error_of;

// Runs steps of a graph on memory of its own for each variable.
class Stepper {
 public:
  explicit Stepper(Graph& graph, const Values& results = {})
      : graph_(graph),
        program_(make_program(graph, results, /*rows=*/4, {.threads = 2})),
        arena_(std::max<size_t>(program_.arena_bytes(), 64)),
        memory_(graph.value_count()) {
    std::vector<void*> outside(graph.value_count());
    for (const int variable : graph.of_source(Graph::Source::variable)) {
      memory_[variable].resize(graph.type(variable).bytes());
      outside[variable] = memory_[variable].data();
    }
    program_.bind(arena_.data(), outside);
  }

  void set(Value value, const Doubles& elements) {
    const testing::Bytes bytes = testing::to_bytes(elements, value.dtype());
    std::memcpy(program_.tensor(value).data, bytes.data(), bytes.size());
  }
  Doubles get(Value value) const {
    const Tensor tensor = program_.tensor(value);
    const auto* data = static_cast<const std::byte*>(tensor.data);
    return testing::to_doubles({data, data + tensor.bytes()}, value.dtype());
  }
  Program& program() { return program_; }
  void step() { program_.run({}); }

 private:
  Graph& graph_;
  Program program_;
  Arena arena_;
  std::vector<testing::Bytes> memory_;
};

const Type kPair{DType::float32, {2}};

TEST(Assign, WritesAndAdds) {
  for (const DType dtype : {DType::float32, DType::float64, DType::int32, DType::int64}) {
    SCOPED_TRACE(name_of(dtype));
    Graph graph;
    const Value set = graph.variable("set", {dtype, {2}});
    const Value added = graph.variable("added", {dtype, {2}});
    const Value x = graph.input("x", {dtype, {2}});
    ops::assign(set, x);
    ops::assign_add(added, x);
    Stepper stepper(graph);
    stepper.set(set, {8, 9});
    stepper.set(added, {8, 9});
    for (int step = 0; step < 2; ++step) {
      stepper.set(x, {1, 2});
      stepper.step();
    }
    EXPECT_EQ(stepper.get(set), (Doubles{1, 2}));
    EXPECT_EQ(stepper.get(added), (Doubles{10, 13}));
  }
}

TEST(Assign, RunsAfterEverythingThatComputes) {
  Graph graph;
  const Value v = graph.variable("v", kPair);
  const Value x = graph.input("x", kPair);
  ops::assign_add(v, x);
  // Added later, but it sees the variable as it was when the step began.
  const Value y = ops::add(v, v);
  Stepper stepper(graph, {y});
  stepper.set(v, {1, 2});
  stepper.set(x, {10, 20});
  stepper.program().compute({});
  EXPECT_EQ(stepper.get(y), (Doubles{2, 4}));
  EXPECT_EQ(stepper.get(v), (Doubles{1, 2})) << "nothing is written before the guard";
  stepper.program().commit({});
  EXPECT_EQ(stepper.get(v), (Doubles{11, 22}));
}

TEST(Assign, OfItsOwnNewValue) {
  Graph graph;
  const Value v = graph.variable("v", kPair);
  ops::assign(v, ops::multiply(v, v));
  Stepper stepper(graph);
  stepper.set(v, {2, 3});
  stepper.step();
  stepper.step();
  EXPECT_EQ(stepper.get(v), (Doubles{16, 81}));
}

TEST(Assign, ExchangesVariables) {
  Graph graph;
  const Value a = graph.variable("a", kPair), b = graph.variable("b", kPair);
  ops::assign(a, b);
  ops::assign(b, a);
  Stepper stepper(graph);
  stepper.set(a, {1, 2});
  stepper.set(b, {3, 4});
  stepper.step();
  EXPECT_EQ(stepper.get(a), (Doubles{3, 4}));
  EXPECT_EQ(stepper.get(b), (Doubles{1, 2}));
}

TEST(Assign, DoublesItself) {
  Graph graph;
  const Value a = graph.variable("a", kPair);
  ops::assign_add(a, a);
  Stepper stepper(graph);
  stepper.set(a, {1, 2});
  stepper.step();
  EXPECT_EQ(stepper.get(a), (Doubles{2, 4}));
}

TEST(Assign, OfASumOverRows) {
  Graph graph;
  const Value total = graph.variable("total", kPair);
  const Value x = graph.input("x", {DType::float32, {kRows, 2}});
  ops::assign_add(total, ops::sum(x, {.axes = {0}}));
  Stepper stepper(graph);
  stepper.set(total, {0, 0});
  for (int step = 0; step < 2; ++step) {
    stepper.set(x, {1, 2, 3, 4, 5, 6, 7, 8});
    stepper.step();
  }
  EXPECT_EQ(stepper.get(total), (Doubles{32, 40}));
}

TEST(Assign, NamesWhatDoesNotFit) {
  Graph graph;
  const Value v = graph.variable("v", kPair);
  const Value flag = graph.variable("flag", {DType::boolean, {2}});
  const Value x = graph.input("x", {DType::float32, {3}});
  const Value same = graph.input("same", kPair);
  const Value i = graph.input("i", {DType::int32, {2}});
  EXPECT_EQ(error_of([&] { ops::assign(v, x); }),
            "assign: the variable is float32[2], the value float32[3]; they must be of one type");
  EXPECT_EQ(error_of([&] { ops::assign_add(v, i); }),
            "assign_add: the variable is float32[2], the value int32[2]; they must be of one type");
  EXPECT_EQ(error_of([&] { ops::assign_add(flag, flag); }),
            "assign_add: the variable is bool[2]; only numbers of 4 or 8 bytes add up");
  EXPECT_EQ(error_of([&] { ops::assign(x, same); }),
            "assign: input 0 (x) is written, but it is no variable");
}

}  // namespace
}  // namespace snug

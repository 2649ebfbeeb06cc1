// For tests of nodes that write variables: a graph, memory for its variables, and its program.
#pragma once

#include <cstring>
#include <map>

#include "snug/exec/program.h"
#include "snug/tensor/arena.h"
#include "snug/testing/check_op.h"

namespace snug::testing {

// The graph is complete when it is made.
class CommitRun {
 public:
  CommitRun(Graph& graph, const Values& results, int threads = 1)
      : program_(make_program(graph, results, 1, {.threads = threads})),
        arena_(program_.arena_bytes() + 64) {
    std::vector<void*> outside(graph.value_count());
    for (const int variable : graph.of_source(Graph::Source::variable)) {
      memory_.emplace_back(graph.type(variable).bytes());
      outside[variable] = memory_.back().data();
    }
    program_.bind(arena_.data(), outside);
  }

  void set(Value value, const Doubles& elements) {
    const Tensor tensor = program_.tensor(value);
    const Bytes bytes = to_bytes(elements, tensor.dtype());
    SNUG_CHECK(bytes.size() == tensor.bytes(), "{} has {} bytes", value.name(), tensor.bytes());
    std::memcpy(tensor.data, bytes.data(), bytes.size());
  }
  Doubles get(Value value) const {
    const Tensor tensor = program_.tensor(value);
    const auto* data = static_cast<const std::byte*>(tensor.data);
    return to_doubles(Bytes(data, data + tensor.bytes()), tensor.dtype());
  }
  void run(Program::Mode mode = Program::Mode::checked) { program_.run({}, mode); }

 private:
  Program program_;
  Arena arena_;
  std::vector<Bytes> memory_;
};

// Passes sums [n, dim], indices [n] and a count [1] on as the gradient of the rows of a table.
class ListedRows final : public Op {
 public:
  std::string_view name() const override { return "listed_rows"; }
  Types infer(const Types& in) const override { return in; }
  Values gradient(const Node& node, const Values&) const override {
    return Values(node.in().size());
  }
  Traits traits() const override { return {.row_gradient = true}; }
  Cost cost(const Types&) const override { return {}; }
  std::unique_ptr<Kernel> kernel(const Types& in, const Target&) const override {
    class Copy final : public Kernel {
     public:
      explicit Copy(const Types& types) : types_(types) {}
      void run(const Run& run) const noexcept override {
        for (size_t i = 0; i < 3; ++i) std::memcpy(run.out[i], run.in[i], types_[i].bytes());
      }

     private:
      Types types_;
    };
    return std::make_unique<Copy>(in);
  }
};

inline Value listed_rows(Value sums, Value indices, Value count) {
  return sums.graph().add<ListedRows>({sums, indices, count});
}

}  // namespace snug::testing

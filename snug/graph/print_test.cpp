#include "snug/graph/print.h"

#include <gtest/gtest.h>

namespace snug {
namespace {

class Scale final : public Op {
 public:
  std::string_view name() const override { return "scale"; }
  std::string attributes() const override { return "factor=2"; }
  Types infer(const Types& in) const override { return {in[0], in[0]}; }
  Values gradient(const Node& node, const Values&) const override {
    return Values(node.in().size());
  }
  Cost cost(const Types&) const override { return {}; }
  std::unique_ptr<Kernel> kernel(const Types&, const Target&) const override { return nullptr; }
};

// No outputs.
class Store final : public Op {
 public:
  std::string_view name() const override { return "store"; }
  Types infer(const Types&) const override { return {}; }
  Values gradient(const Node& node, const Values&) const override {
    return Values(node.in().size());
  }
  Traits traits() const override { return {.writes = {0}}; }
  Cost cost(const Types&) const override { return {}; }
  std::unique_ptr<Kernel> kernel(const Types&, const Target&) const override { return nullptr; }
};

class One final : public Op {
 public:
  std::string_view name() const override { return "one"; }
  Types infer(const Types&) const override { return {{DType::int32, {}}}; }
  Values gradient(const Node&, const Values&) const override { return {}; }
  Cost cost(const Types&) const override { return {}; }
  std::unique_ptr<Kernel> kernel(const Types&, const Target&) const override { return nullptr; }
};

class Print : public ::testing::Test {
 protected:
  Print() {
    const Value x = graph_.input("x", {DType::float32, {kRows, 4}});
    const Value w = graph_.variable("w", {DType::float32, {4}});
    graph_.add_all<Store>({w, x});
    graph_.add<One>({});
    const Graph::Scope scope(graph_, "dense");
    graph_.add_all<Scale>({x, w});
  }
  Graph graph_;
};

TEST_F(Print, OneLineANode) {
  const std::string printed = text(graph_), commit = "store(%1, %0)\n";
  EXPECT_TRUE(printed.starts_with(
      "%0 float32[rows, 4] = input x\n"
      "%1 float32[4] = variable w\n"
      "%2 int32[] = one()\n"
      "%3, %4 float32[rows, 4], float32[rows, 4] = scale(%0, %1) factor=2  # dense\n"))
      << printed;
  EXPECT_TRUE(printed.ends_with(commit)) << printed;
}

TEST_F(Print, Graphviz) {
  EXPECT_EQ(graphviz(graph_),
            "digraph step {\n"
            "  v0 [label=\"x\\nfloat32[rows, 4]\" shape=box];\n"
            "  v1 [label=\"w\\nfloat32[4]\" shape=box];\n"
            "  n1 [label=\"one\"];\n"
            "  n2 [label=\"dense/scale\"];\n"
            "  v0 -> n2 [label=\"float32[rows, 4]\"];\n"
            "  v1 -> n2 [label=\"float32[4]\"];\n"
            "  n0 [label=\"store\"];\n"
            "  v1 -> n0 [label=\"float32[4]\"];\n"
            "  v0 -> n0 [label=\"float32[rows, 4]\"];\n"
            "}\n");
}

}  // namespace
}  // namespace snug

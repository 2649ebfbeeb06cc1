#include "snug/graph/graph.h"

#include <gtest/gtest.h>

#include "snug/base/error.h"

namespace snug {
namespace {

class NoKernel final : public Kernel {
 public:
  void run(const Run&) const noexcept override {}
};

// As many inputs as wanted; one output of the first input's type, or of a given one.
class AnyOp : public Op {
 public:
  explicit AnyOp(Rows rows = Rows::each, std::optional<Type> type = {})
      : rows_(rows), type_(type) {}
  std::string_view name() const override { return "any"; }
  Types infer(const Types& in) const override { return {type_ ? *type_ : in[0]}; }
  Values gradient(const Node& node, const Values&) const override {
    return Values(node.in().size());
  }
  Rows rows(const Types&) const override { return rows_; }
  Cost cost(const Types&) const override { return {}; }
  std::unique_ptr<Kernel> kernel(const Types&, const Target&) const override {
    return std::make_unique<NoKernel>();
  }

 private:
  Rows rows_;
  std::optional<Type> type_;
};

// Writes its first input; its output is what it wrote.
class Commit final : public AnyOp {
 public:
  std::string_view name() const override { return "commit"; }
  Traits traits() const override { return {.writes = {0}}; }
};

class TwoOutputs final : public AnyOp {
 public:
  std::string_view name() const override { return "two"; }
  Types infer(const Types& in) const override { return {in[0], in[0]}; }
};

const Type kPair{DType::float32, {2}};

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Graph, KnowsWhereValuesComeFrom) {
  Graph graph;
  const Value x = graph.input("x", kPair), w = graph.variable("w", kPair);
  const Values y = graph.add_all<TwoOutputs>({x, w});
  ASSERT_EQ(y.size(), 2u);
  EXPECT_EQ(graph.of_source(Graph::Source::input), std::vector{x.id()});
  EXPECT_EQ(graph.of_source(Graph::Source::variable), std::vector{w.id()});
  EXPECT_EQ(graph.of_source(Graph::Source::node), (std::vector{y[0].id(), y[1].id()}));
  EXPECT_EQ(x.producer(), nullptr);
  EXPECT_EQ(w.producer(), nullptr);
  const Node& node = *y[1].producer();
  EXPECT_EQ(node.input(1), w);
  EXPECT_EQ(node.output(1), y[1]);
  EXPECT_EQ(node.input_types(), (Types{kPair, kPair}));
  EXPECT_EQ(y[0].name(), "two");
  EXPECT_EQ(y[1].name(), "two:1");
}

TEST(Graph, RefusesWhatIsNotItsOwn) {
  Graph graph, other;
  const Value x = graph.input("x", kPair), foreign = other.input("theirs", kPair);
  EXPECT_EQ(error_of([&] {
              graph.add<AnyOp>({x, foreign});
            }),
            "any: input 1 belongs to another graph; a node joins values of one graph, and no value "
            "is kept from one trace to the next");
  EXPECT_EQ(error_of([&] {
              graph.add<AnyOp>({x, Value()});
            }),
            "any: input 1 is empty; give it a value");
  EXPECT_EQ(graph.value_count(), 1) << "a refused node leaves nothing behind";
  EXPECT_TRUE(graph.nodes().empty());
}

// Where one is gone, the next often stands.
TEST(Graph, AValueOutlivesItsGraphInVain) {
  std::optional<Graph> graph(std::in_place);
  const Value first = graph->input("x", kPair), second = graph->input("w", kPair);
  graph.emplace();
  const Value x = graph->input("x", kPair);
  ASSERT_EQ(&x.graph(), &first.graph());
  EXPECT_NE(x, first);
  const std::string message =
      "any: input 1 belongs to another graph; a node joins values of one graph, and no value is "
      "kept from one trace to the next";
  EXPECT_EQ(error_of([&] { graph->add<AnyOp>({x, first}); }), message);
  EXPECT_EQ(error_of([&] { graph->add<AnyOp>({x, second}); }), message);
  const std::string gone =
      "a value belongs to another graph, which is gone; keep no values from one trace to the next";
  EXPECT_EQ(error_of([&] { (void)first.shape(); }), gone);
  EXPECT_EQ(error_of([&] { (void)second.type(); }), gone) << "whose number there is not yet";
}

TEST(Graph, StateHasAFixedShape) {
  Graph graph;
  EXPECT_EQ(error_of([&] {
              graph.variable("w", {DType::float32, {kRows, 2}});
            }),
            "variable w: its shape [rows, 2] has rows; state has a fixed shape");
}

TEST(Graph, RefusesShapesThatCannotBe) {
  Graph graph;
  EXPECT_THROW(graph.input("x", {DType::float32, {kRows, -3}}), ShapeError);
  const int64_t large = int64_t{1} << 31;
  EXPECT_THROW(graph.variable("w", {DType::float32, {large, large}}), ShapeError);
}

TEST(Graph, AnOpsRowsMustFitItsOutputs) {
  Graph graph;
  const Value x = graph.input("x", {DType::float32, {kRows, 3}});
  EXPECT_EQ(error_of([&] { graph.add<AnyOp>({x}, Rows::sum); }),
            "any: the op says that it sums over rows, but its output is float32[rows, 3]; mend its "
            "rows()");
  EXPECT_EQ(error_of([&] { graph.add<AnyOp>({x}, Rows::each, kPair); }),
            "any: the op says that each row stands on its own, but its output is float32[2]; mend "
            "its rows()");
  EXPECT_EQ(error_of([&] {
              graph.add<AnyOp>({x}, Rows::sum, Type{DType::uint8, {2}});
            }),
            "any: the op sums over rows into uint8[2]; a sum needs a float or an int32 or int64");
}

TEST(Graph, OnlyCommitsReadWhatACommitWrote) {
  Graph graph;
  const Value w = graph.variable("w", kPair), v = graph.variable("v", kPair);
  const Value written = graph.add<Commit>({w});
  EXPECT_EQ(error_of([&] { graph.add<AnyOp>({written}); }),
            "any: input 0 is the result of commit, which commits state; only another commit may "
            "read it");
  EXPECT_EQ(error_of([&] { graph.add<Commit>({v, written}); }), "no error");
}

TEST(Graph, OnlyVariablesAreWritten) {
  Graph graph;
  const Value x = graph.input("x", kPair);
  const Value y = graph.add<AnyOp>({x});
  EXPECT_EQ(error_of([&] { graph.add<Commit>({x}); }),
            "commit: input 0 (x) is written, but it is no variable");
  EXPECT_EQ(error_of([&] { graph.add<Commit>({y}); }),
            "commit: input 0 (any) is written, but it is no variable");
}

TEST(Graph, CommitsComeAfterAllThatComputes) {
  Graph graph;
  const Value w = graph.variable("w", kPair), v = graph.variable("v", kPair);
  graph.add<Commit>({w});
  graph.add<AnyOp>({w});
  graph.add<Commit>({v});
  graph.add<AnyOp>({v});
  std::vector<int> ids;
  for (const Node* node : graph.nodes()) ids.push_back(node->id());
  EXPECT_EQ(ids, (std::vector{1, 3, 0, 2}));
}

TEST(Graph, ScopesNameTheLayer) {
  Graph graph;
  const Value x = graph.input("x", kPair);
  EXPECT_EQ(graph.add<AnyOp>({x}).producer()->label(), "any");
  {
    const Graph::Scope block(graph, "block_1");
    {
      const Graph::Scope dense(graph, "dense");
      const Value y = graph.add<AnyOp>({x});
      EXPECT_EQ(y.producer()->scope(), "block_1/dense");
      EXPECT_EQ(y.producer()->label(), "block_1/dense/any");
      EXPECT_EQ(y.name(), "block_1/dense/any");
    }
    EXPECT_EQ(graph.add<AnyOp>({x}).producer()->label(), "block_1/any");
  }
  EXPECT_EQ(graph.scope(), "");
}

TEST(Graph, WithOtherNodesKeepsTheValues) {
  Graph graph;
  const Value x = graph.input("x", kPair), w = graph.variable("w", kPair);
  const Value a = graph.add<AnyOp>({x}), b = graph.add<AnyOp>({a, w});
  // b straight from x and w, as a pass that rewrites would have it.
  const Node joined(graph, 0, std::make_shared<AnyOp>(), {x.id(), w.id()}, {b.id()}, "joined");
  const std::unique_ptr<Graph> copy = graph.with_nodes({&joined});
  EXPECT_EQ(copy->value_count(), graph.value_count());
  EXPECT_EQ(copy->name(w.id()), "w");
  EXPECT_EQ(copy->source(w.id()), Graph::Source::variable);
  EXPECT_EQ(copy->producer(a.id()), nullptr);
  ASSERT_EQ(copy->nodes().size(), 1u);
  const Node& node = *copy->producer(b.id());
  EXPECT_EQ(&node.graph(), copy.get());
  EXPECT_EQ(node.label(), "joined/any");
  EXPECT_EQ(node.in(), (std::vector{x.id(), w.id()}));
  EXPECT_EQ(graph.nodes().size(), 2u) << "the graph itself stays as it is";
}

TEST(Node, RowsOfOrdinaryShapes) {
  Graph graph;
  const Value x = graph.input("x", {DType::float32, {kRows, 2}}), w = graph.variable("w", kPair);
  EXPECT_EQ(graph.add<AnyOp>({w}).producer()->rows(), std::nullopt);
  EXPECT_EQ(graph.add<AnyOp>({x, w}).producer()->rows(), Rows::each);
  EXPECT_EQ(graph.add<AnyOp>({w, x}, Rows::sum).producer()->rows(), Rows::sum);
  EXPECT_EQ(graph.add<AnyOp>({x}, Rows::coupled).producer()->rows(), Rows::coupled);
  const Value wide = graph.input("wide", {DType::float32, {Extent(4, true), 2}});
  EXPECT_EQ(graph.add<AnyOp>({wide}).producer()->rows(), Rows::each);
  const Type rows_only{DType::float32, {kRows, 2}};
  EXPECT_EQ(graph.add<AnyOp>({w}, Rows::each, rows_only).producer()->rows(), Rows::each);
}

TEST(Node, RowsThatAreNotOutermostAreCoupled) {
  Graph graph;
  const Type inner{DType::float32, {2, kRows}};
  const Value x = graph.input("x", {DType::float32, {kRows, 2}}), y = graph.input("y", inner);
  EXPECT_EQ(graph.add<AnyOp>({y}).producer()->rows(), Rows::coupled);
  EXPECT_EQ(graph.add<AnyOp>({x, y}).producer()->rows(), Rows::coupled);
  EXPECT_EQ(graph.add<AnyOp>({x}, Rows::each, inner).producer()->rows(), Rows::coupled);
}

TEST(Op, RefusesASecondGradient) {
  EXPECT_EQ(error_of([] { refuse_second_gradient("pool"); }),
            "pool: its gradient cannot be differentiated again; take gradients of a value before "
            "the tape");
}

}  // namespace
}  // namespace snug

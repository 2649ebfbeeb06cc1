// A step as a graph: values, and the nodes that compute them, in program order.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "snug/graph/op.h"

namespace snug {

class Graph;

// A handle on one array of a graph. Cheap to copy; valid while the graph lives. One of a graph that
// is gone is found out where another stands in its place: Error.
class Value {
 public:
  Value() = default;
  Value(Graph& graph, int id);

  explicit operator bool() const { return graph_ != nullptr; }
  Graph& graph() const { return *graph_; }
  int id() const { return id_; }
  // Whether it is one of this graph, whatever has become of its own.
  bool is_of(const Graph& graph) const;
  const Type& type() const;
  const Shape& shape() const { return type().shape; }
  DType dtype() const { return type().dtype; }
  const std::string& name() const;
  const Node* producer() const;  // Null for inputs and variables.

  friend bool operator==(const Value&, const Value&) = default;

 private:
  Graph* graph_ = nullptr;
  int id_ = -1;
  uint32_t graph_number_ = 0;
};

// One application of an op.
class Node {
 public:
  Node(Graph& graph, int id, std::shared_ptr<const Op> op, std::vector<int> in,
       std::vector<int> out, std::string scope);

  int id() const { return id_; }
  const Op& op() const { return *op_; }
  const std::shared_ptr<const Op>& shared_op() const { return op_; }
  Graph& graph() const { return *graph_; }
  const std::vector<int>& in() const { return in_; }
  const std::vector<int>& out() const { return out_; }
  Value input(int i) const { return {*graph_, in_[i]}; }
  Value output(int i = 0) const { return {*graph_, out_[i]}; }
  Types input_types() const;
  // The path of the layer that added it: "block_1/dense".
  const std::string& scope() const { return scope_; }
  std::string label() const;  // "block_1/dense/matmul"
  bool commits() const { return commits_; }

  // How it treats rows, or nullopt when neither inputs nor outputs have any.
  std::optional<Rows> rows() const;

 private:
  Graph* graph_;
  int id_;
  std::shared_ptr<const Op> op_;
  std::vector<int> in_, out_;
  std::string scope_;
  bool commits_;
};

class Graph {
 public:
  enum class Source { input, variable, node };

  Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // A value that the caller fills before each step.
  Value input(std::string name, Type type);
  // State that outlives the step: weights, moments, averages, counters. Its memory is the caller's.
  // Only nodes that commit write it.
  Value variable(std::string name, Type type);

  // Adds a node. Throws ShapeError when the inputs do not fit, Error when one belongs to another
  // graph or when a node that only computes would read what a committing node wrote.
  Values add(std::shared_ptr<const Op> op, const Values& in);
  template <typename OpType, typename... Args>
  Values add_all(const Values& in, Args&&... args) {
    return add(std::make_shared<OpType>(std::forward<Args>(args)...), in);
  }
  // The first output.
  template <typename OpType, typename... Args>
  Value add(const Values& in, Args&&... args) {
    return add_all<OpType>(in, std::forward<Args>(args)...)[0];
  }

  int value_count() const { return static_cast<int>(values_.size()); }
  Value value(int id) { return {*this, id}; }
  const Type& type(int value) const { return values_[value].type; }
  const std::string& name(int value) const { return values_[value].name; }
  Source source(int value) const { return values_[value].source; }
  const Node* producer(int value) const;
  std::vector<int> of_source(Source source) const;

  // In program order: computing nodes in the order in which they were added, then committing ones.
  std::vector<const Node*> nodes() const;

  // A graph with the same values, under the same numbers, and other nodes in their place; for
  // passes that rewrite.
  std::unique_ptr<Graph> with_nodes(const std::vector<const Node*>& nodes) const;

  // Names the layer whose nodes are added while it lives.
  class Scope {
   public:
    Scope(Graph& graph, const std::string& name);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Graph& graph_;
    size_t outer_length_;
  };
  const std::string& scope() const { return scope_; }

 private:
  struct ValueInfo {
    Type type;
    std::string name;
    Source source = Source::node;
    int producer = -1;
  };
  Value add_value(Type type, std::string name, Source source, int producer);

  friend class Value;
  uint32_t number_;  // Of all in the process; from 1.
  std::deque<ValueInfo> values_;
  std::deque<Node> nodes_;
  std::string scope_;
};

inline Value::Value(Graph& graph, int id) : graph_(&graph), id_(id), graph_number_(graph.number_) {}

inline bool Value::is_of(const Graph& graph) const {
  return graph_ == &graph && graph_number_ == graph.number_;
}

}  // namespace snug

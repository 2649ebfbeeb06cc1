#include "snug/graph/graph.h"

#include <algorithm>
#include <atomic>

#include "snug/base/error.h"

namespace snug {

void refuse_second_gradient(std::string_view op) {
  throw Error(
      "{}: its gradient cannot be differentiated again; take gradients of a value before the tape",
      op);
}

namespace {

std::atomic<uint32_t> last_number = 0;

}  // namespace

Graph::Graph() : number_(++last_number) {}

const Type& Value::type() const {
  // Its numbers would be those of other values.
  if (!is_of(*graph_))
    throw Error(
        "a value belongs to another graph, which is gone; keep no values from one trace to the "
        "next");
  return graph_->type(id_);
}
const std::string& Value::name() const { return graph_->name(id_); }
const Node* Value::producer() const { return graph_->producer(id_); }

Node::Node(Graph& graph, int id, std::shared_ptr<const Op> op, std::vector<int> in,
           std::vector<int> out, std::string scope)
    : graph_(&graph),
      id_(id),
      op_(std::move(op)),
      in_(std::move(in)),
      out_(std::move(out)),
      scope_(std::move(scope)),
      commits_(!op_->traits().writes.empty()) {}

Types Node::input_types() const {
  Types types;
  for (const int value : in_) types.push_back(graph_->type(value));
  return types;
}

std::string Node::label() const {
  return scope_.empty() ? std::string(op_->name()) : fmt::format("{}/{}", scope_, op_->name());
}

std::optional<Rows> Node::rows() const {
  const auto symbolic = [&](int value) { return graph_->type(value).shape.is_symbolic(); };
  if (std::ranges::none_of(in_, symbolic) && std::ranges::none_of(out_, symbolic))
    return std::nullopt;
  // A stretch of rows is a stretch of memory only where rows stand outermost, and nowhere else.
  const auto awkward = [&](int value) {
    const Shape& shape = graph_->type(value).shape;
    return symbolic(value) && (!shape.has_rows() || shape.without(0).is_symbolic());
  };
  if (std::ranges::any_of(in_, awkward) || std::ranges::any_of(out_, awkward)) return Rows::coupled;
  return op_->rows(input_types());
}

namespace {

void check_shape(const Shape& shape, const std::string& name) {
  for (const Extent extent : shape.extents()) {
    if (extent.count < 0)
      throw ShapeError("{}: its shape {} has a negative extent", name, shape.text());
  }
  (void)shape.size_per_row();  // Throws where it is too large to count.
}

// What the engine takes on trust when it runs a node part by part.
void check_rows(const Node& node, const Graph& graph) {
  const std::optional<Rows> rows = node.rows();
  if (!rows || *rows == Rows::coupled) return;
  for (const int value : node.out()) {
    const Type& type = graph.type(value);
    const bool sum = *rows == Rows::sum;
    if (type.shape.has_rows() == sum) {
      throw Error("{}: the op says that {}, but its output is {}; mend its rows()",
                  node.op().name(), sum ? "it sums over rows" : "each row stands on its own",
                  type.text());
    }
    if (sum && (type.dtype == DType::uint8 || type.dtype == DType::boolean)) {
      throw Error("{}: the op sums over rows into {}; a sum needs a float or an int32 or int64",
                  node.op().name(), type.text());
    }
  }
}

}  // namespace

Value Graph::add_value(Type type, std::string name, Source source, int producer) {
  check_shape(type.shape, name);
  values_.push_back({std::move(type), std::move(name), source, producer});
  return {*this, value_count() - 1};
}

Value Graph::input(std::string name, Type type) {
  return add_value(type, std::move(name), Source::input, -1);
}

Value Graph::variable(std::string name, Type type) {
  if (type.shape.is_symbolic()) {
    throw ShapeError("variable {}: its shape {} has rows; state has a fixed shape", name,
                     type.shape.text());
  }
  return add_value(type, std::move(name), Source::variable, -1);
}

Values Graph::add(std::shared_ptr<const Op> op, const Values& in) {
  Types types;
  std::vector<int> in_ids, out_ids;
  const Traits traits = op->traits();
  for (const Value& value : in) {
    if (!value) throw Error("{}: input {} is empty; give it a value", op->name(), in_ids.size());
    // Which may be gone: nothing of it is asked.
    if (!value.is_of(*this)) {
      throw Error(
          "{}: input {} belongs to another graph; a node joins values of one graph, and no value "
          "is "
          "kept from one trace to the next",
          op->name(), in_ids.size());
    }
    if (traits.writes.empty() && value.producer() != nullptr && value.producer()->commits()) {
      throw Error(
          "{}: input {} is the result of {}, which commits state; only another commit may read it",
          op->name(), in_ids.size(), value.producer()->label());
    }
    types.push_back(value.type());
    in_ids.push_back(value.id());
  }
  for (const int written : traits.writes) {
    if (source(in_ids[written]) != Source::variable) {
      throw Error("{}: input {} ({}) is written, but it is no variable", op->name(), written,
                  in[written].name());
    }
  }
  const int id = static_cast<int>(nodes_.size());
  Values out;
  for (Type& type : op->infer(types)) {
    const std::string name = fmt::format("{}{}{}", scope_, scope_.empty() ? "" : "/", op->name());
    out.push_back(add_value(type, out.empty() ? name : fmt::format("{}:{}", name, out.size()),
                            Source::node, id));
    out_ids.push_back(out.back().id());
  }
  nodes_.emplace_back(*this, id, std::move(op), std::move(in_ids), std::move(out_ids), scope_);
  check_rows(nodes_.back(), *this);
  return out;
}

const Node* Graph::producer(int value) const {
  const int node = values_[value].producer;
  return node < 0 ? nullptr : &nodes_[node];
}

std::vector<int> Graph::of_source(Source source) const {
  std::vector<int> found;
  for (int value = 0; value < value_count(); ++value) {
    if (values_[value].source == source) found.push_back(value);
  }
  return found;
}

std::vector<const Node*> Graph::nodes() const {
  std::vector<const Node*> order;
  for (const bool commits : {false, true}) {
    for (const Node& node : nodes_) {
      if (node.commits() == commits) order.push_back(&node);
    }
  }
  return order;
}

std::unique_ptr<Graph> Graph::with_nodes(const std::vector<const Node*>& nodes) const {
  auto graph = std::make_unique<Graph>();
  graph->values_ = values_;
  for (ValueInfo& value : graph->values_) value.producer = -1;
  for (const Node* node : nodes) {
    const int id = static_cast<int>(graph->nodes_.size());
    for (const int value : node->out()) graph->values_[value].producer = id;
    graph->nodes_.emplace_back(*graph, id, node->shared_op(), node->in(), node->out(),
                               node->scope());
  }
  return graph;
}

Graph::Scope::Scope(Graph& graph, const std::string& name)
    : graph_(graph), outer_length_(graph.scope_.size()) {
  if (!graph.scope_.empty()) graph.scope_ += '/';
  graph.scope_ += name;
}

Graph::Scope::~Scope() { graph_.scope_.resize(outer_length_); }

}  // namespace snug

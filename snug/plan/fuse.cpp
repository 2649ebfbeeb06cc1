#include "snug/plan/fuse.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>

#include "snug/ops/elementwise.h"
#include "snug/plan/fused_op.h"
#include "snug/plan/recompute_cheap.h"

namespace snug {
namespace {

// More would not stay in the first cache.
constexpr size_t kMostSteps = 12;
constexpr size_t kMostInputs = 12;

class Fuser {
 public:
  Fuser(const Graph& graph, const Values& results) : graph_(graph), nodes_(graph.nodes()) {
    for (const Value& result : results) kept_.insert(result.id());
    for (size_t i = 0; i < nodes_.size(); ++i) {
      place_[nodes_[i]] = static_cast<int>(i);
      for (const int value : nodes_[i]->in()) readers_[value].push_back(static_cast<int>(i));
    }
    group_.assign(nodes_.size(), -1);
  }

  std::unique_ptr<Graph> run() {
    for (int node = 0; node < static_cast<int>(nodes_.size()); ++node) {
      if (is_elementwise(*nodes_[node])) join(node);
    }
    std::vector<std::unique_ptr<Node>> made;
    std::vector<const Node*> order;
    for (int node = 0; node < static_cast<int>(nodes_.size()); ++node) {
      const int group = group_[node];
      const bool alone = group < 0 || groups_[group].size() == 1;
      if (alone) {
        order.push_back(nodes_[node]);
      } else if (groups_[group].back() == node) {
        made.push_back(join_nodes(groups_[group]));
        order.push_back(made.back().get());
      }
    }
    return graph_.with_nodes(order);
  }

 private:
  bool is_elementwise(const Node& node) const {
    if (node.commits() || node.op().elementwise() == nullptr || node.out().size() != 1)
      return false;
    const auto is_float = [&](int value) { return graph_.type(value).dtype == DType::float32; };
    return is_float(node.out()[0]) && std::ranges::all_of(node.in(), is_float) &&
           node.in().size() <= ops::kMostElementwiseInputs;
  }

  void join(int node) {
    for (const int value : nodes_[node]->in()) {
      const Node* producer = graph_.producer(value);
      if (producer == nullptr) continue;
      const int group = group_[place_[producer]];
      if (group < 0 || !fits(node, group)) continue;
      groups_[group].push_back(node);
      group_[node] = group;
      return;
    }
    group_[node] = static_cast<int>(groups_.size());
    groups_.push_back({node});
  }

  bool fits(int node, int group) const {
    const std::vector<int>& members = groups_[group];
    if (members.size() == kMostSteps) return false;
    const Shape& shape = graph_.type(nodes_[node]->out()[0]).shape;
    if (shape != graph_.type(nodes_[members[0]]->out()[0]).shape) return false;
    std::vector<int> all = members;
    all.push_back(node);
    if (inputs_of(all).size() > kMostInputs) return false;
    // The joined node stands where its last member stood: nobody may need a result before.
    for (const int member : members) {
      for (const int reader : readers(nodes_[member]->out()[0])) {
        if (reader < node && group_[reader] != group) return false;
      }
    }
    return !depends_from_outside(node, group);
  }

  // Whether an input of the node comes from a node outside the group that itself depends on the
  // group.
  bool depends_from_outside(int node, int group) const {
    std::vector<int> open;
    std::set<int> seen;
    const auto visit = [&](int reader) {
      for (const int value : nodes_[reader]->in()) {
        const Node* producer = graph_.producer(value);
        if (producer == nullptr) continue;
        const int from = place_.at(producer);
        if (from > groups_[group][0] && group_[from] != group && seen.insert(from).second)
          open.push_back(from);
      }
    };
    visit(node);
    while (!open.empty()) {
      const int outside = open.back();
      open.pop_back();
      for (const int value : nodes_[outside]->in()) {
        const Node* producer = graph_.producer(value);
        if (producer != nullptr && group_[place_.at(producer)] == group) return true;
      }
      visit(outside);
    }
    return false;
  }

  const std::vector<int>& readers(int value) const {
    static const std::vector<int> none;
    const auto found = readers_.find(value);
    return found == readers_.end() ? none : found->second;
  }

  std::vector<int> inputs_of(const std::vector<int>& members) const {
    std::set<int> inside;
    std::vector<int> inputs;
    for (const int member : members) {
      for (const int value : nodes_[member]->in()) {
        if (!inside.contains(value) && !std::ranges::count(inputs, value)) inputs.push_back(value);
      }
      inside.insert(nodes_[member]->out()[0]);
    }
    return inputs;
  }

  std::unique_ptr<Node> join_nodes(const std::vector<int>& members) const {
    const std::vector<int> inputs = inputs_of(members);
    std::map<int, int> operand;  // Of each value.
    for (size_t i = 0; i < inputs.size(); ++i) operand[inputs[i]] = static_cast<int>(i);
    std::vector<FusedStep> steps;
    std::vector<int> outputs, leaving;
    for (const int member : members) {
      const Node& node = *nodes_[member];
      FusedStep step{.op = node.shared_op(), .operands = {}, .label = node.label()};
      for (const int value : node.in()) step.operands.push_back(operand[value]);
      const int result = node.out()[0];
      operand[result] = static_cast<int>(inputs.size() + steps.size());
      const bool leaves =
          kept_.contains(result) || std::ranges::any_of(readers(result), [&](int reader) {
            return !std::ranges::count(members, reader);
          });
      if (leaves) {
        outputs.push_back(static_cast<int>(steps.size()));
        leaving.push_back(result);
      }
      steps.push_back(std::move(step));
    }
    const Node& last = *nodes_[members.back()];
    if (outputs.empty()) {  // Nobody reads it: keep the last result, so that the node has one.
      outputs.push_back(static_cast<int>(steps.size()) - 1);
      leaving.push_back(last.out()[0]);
    }
    std::vector<Shape> shapes;
    for (const int input : inputs) shapes.push_back(graph_.type(input).shape);
    auto op = fused_op(std::move(steps), std::move(outputs), std::move(shapes),
                       graph_.type(last.out()[0]).shape);
    return std::make_unique<Node>(last.graph(), 0, std::move(op), inputs, leaving, last.scope());
  }

  const Graph& graph_;
  std::vector<const Node*> nodes_;
  std::set<int> kept_;
  std::unordered_map<const Node*, int> place_;
  std::unordered_map<int, std::vector<int>> readers_;
  std::vector<int> group_;                // Of each node, or -1.
  std::vector<std::vector<int>> groups_;  // Members in program order.
};

}  // namespace

std::unique_ptr<Graph> fuse(const Graph& graph, const Values& results) {
  const std::unique_ptr<Graph> shorter = recompute_cheap(graph, results);
  return Fuser(*shorter, results).run();
}

}  // namespace snug

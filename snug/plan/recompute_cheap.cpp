#include "snug/plan/recompute_cheap.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace snug {
namespace {

// Of a chain: more would read more values than it saves.
constexpr size_t kMostNodes = 4;
// An element: what costs more than moving it is kept.
constexpr double kMostFlops = 12;

class Repeater {
 public:
  Repeater(const Graph& graph, const Values& results) : graph_(graph) {
    std::vector<bool> needed(graph.value_count());
    for (const Value& result : results) {
      needed[result.id()] = true;
      kept_.insert(result.id());
    }
    find_live(needed);
    readers_.resize(graph.value_count());
    level_.resize(graph.value_count());
    repeated_.resize(graph.value_count());
    for (size_t i = 0; i < nodes_.size(); ++i) {
      for (const int value : nodes_[i]->in()) readers_[value].push_back(i);
      const int level = level_of(*nodes_[i]);
      node_level_.push_back(level);
      for (const int value : nodes_[i]->out()) level_[value] = level;
    }
  }

  std::unique_ptr<Graph> run() {
    for (const Node* node : nodes_) {
      if (is_cheap(*node)) consider(node->out()[0]);
    }
    return rebuilt();
  }

 private:
  // The barriers before a node.
  int level_of(const Node& node) const {
    int level = 0;
    for (const int value : node.in()) {
      const Node* producer = graph_.producer(value);
      if (producer != nullptr)
        level = std::max(level, level_[value] + (joins_rows(*producer) ? 1 : 0));
    }
    return level;
  }

  static bool joins_rows(const Node& node) {
    const std::optional<Rows> rows = node.rows();
    return rows && *rows != Rows::each;
  }

  void find_live(std::vector<bool>& needed) {
    const std::vector<const Node*> all = graph_.nodes();
    for (auto node = all.rbegin(); node != all.rend(); ++node) {
      const bool read =
          std::ranges::any_of((*node)->out(), [&](int value) { return needed[value]; });
      if (!read && !(*node)->commits()) continue;
      for (const int value : (*node)->in()) needed[value] = true;
      nodes_.push_back(*node);
    }
    std::ranges::reverse(nodes_);
  }

  static bool is_cheap(const Node& node) {
    if (node.commits() || node.op().elementwise() == nullptr || node.out().size() != 1)
      return false;
    const std::optional<Rows> rows = node.rows();
    if (!rows || *rows != Rows::each || node.op().traits().random) return false;
    Types types = node.input_types();
    for (Type& type : types) type = type.at(1);
    const auto elements = static_cast<double>(node.output().type().at(1).shape.size());
    return node.op().cost(types).flops <= kMostFlops * elements;
  }

  // All of its later readers get chains, or none: then it is kept anyway.
  void consider(int value) {
    if (kept_.contains(value)) return;
    std::set<int> later;
    for (const size_t reader : readers_[value]) {
      if (nodes_[reader]->commits()) return;
      if (node_level_[reader] > level_[value]) later.insert(node_level_[reader]);
    }
    std::map<int, Chain> chains;
    for (const int level : later) {
      Chain chain;
      if (!extend(chain, value, level)) return;
      chains[level] = chain;
    }
    if (chains.empty()) return;
    repeated_[value] = true;
    chains_[value] = std::move(chains);
  }

  using Chain = std::vector<const Node*>;  // Last node first.

  bool extend(Chain& chain, int value, int level) const {
    const Node* node = graph_.producer(value);
    if (node == nullptr || !is_cheap(*node)) return false;
    if (std::ranges::count(chain, node) > 0) return true;
    chain.push_back(node);
    if (chain.size() > kMostNodes) return false;
    return std::ranges::all_of(
        node->in(), [&](int input) { return passes(input, level) || extend(chain, input, level); });
  }

  // Whether a value is there at that level without our doing.
  bool passes(int value, int level) const {
    if (!graph_.type(value).shape.is_symbolic() || graph_.producer(value) == nullptr) return true;
    if (kept_.contains(value)) return true;
    return !repeated_[value] && std::ranges::any_of(readers_[value], [&](size_t reader) {
      return node_level_[reader] >= level;
    });
  }

  std::unique_ptr<Graph> rebuilt() {
    const std::unique_ptr<Graph> wider = graph_.with_nodes(nodes_);
    std::vector<std::unique_ptr<Node>> made;
    std::vector<const Node*> order;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      std::vector<int> in = nodes_[i]->in();
      for (int& value : in) {
        const Chain* chain = chain_of(value, node_level_[i]);
        if (chain != nullptr) value = twin(*wider, value, node_level_[i], *chain, order);
      }
      const Node& node = *nodes_[i];
      made.push_back(std::make_unique<Node>(*wider, 0, node.shared_op(), std::move(in), node.out(),
                                            node.scope()));
      order.push_back(made.back().get());
    }
    return wider->with_nodes(order);
  }

  const Chain* chain_of(int value, int level) const {
    const auto chains = chains_.find(value);
    if (chains == chains_.end()) return nullptr;
    const auto chain = chains->second.find(level);
    return chain == chains->second.end() ? nullptr : &chain->second;
  }

  // The value's twin at that level; its chain is added where it is read first.
  int twin(Graph& graph, int value, int level, const Chain& chain,
           std::vector<const Node*>& order) {
    for (auto node = chain.rbegin(); node != chain.rend(); ++node) {
      const auto [at, is_new] = twin_of_.try_emplace({(*node)->out()[0], level}, -1);
      if (!is_new) continue;
      Values in;
      for (const int input : (*node)->in()) {
        const auto there = twin_of_.find({input, level});
        in.push_back(graph.value(there == twin_of_.end() ? input : there->second));
      }
      const Graph::Scope scope(graph, (*node)->scope());
      at->second = graph.add((*node)->shared_op(), in)[0].id();
      order.push_back(graph.producer(at->second));
    }
    return twin_of_.at({value, level});
  }

  const Graph& graph_;
  std::set<int> kept_;              // Results.
  std::vector<const Node*> nodes_;  // Those that lead to a result or commit, in program order.
  std::vector<int> node_level_;
  std::vector<std::vector<size_t>> readers_;  // Of each value, positions among the nodes.
  std::vector<int> level_;                    // Of each value.
  std::vector<bool> repeated_;                // The value is not kept for later levels.
  std::map<int, std::map<int, Chain>> chains_;
  std::map<std::pair<int, int>, int> twin_of_;  // By value and level.
};

}  // namespace

std::unique_ptr<Graph> recompute_cheap(const Graph& graph, const Values& results) {
  return Repeater(graph, results).run();
}

}  // namespace snug

#include "snug/graph/print.h"

#include <fmt/ranges.h>

namespace snug {
namespace {

std::string list(const std::vector<int>& values) {
  return fmt::format("%{}", fmt::join(values, ", %"));
}

std::string line(const Graph& graph, const Node& node) {
  std::vector<std::string> types;
  for (const int value : node.out()) types.push_back(graph.type(value).text());
  std::string result = fmt::format("{} {} = {}({})", node.out().empty() ? "" : list(node.out()),
                                   fmt::join(types, ", "), node.op().name(),
                                   node.in().empty() ? "" : list(node.in()));
  if (const std::string attributes = node.op().attributes(); !attributes.empty())
    result += ' ' + attributes;
  if (!node.scope().empty()) result += "  # " + node.scope();
  return result;
}

}  // namespace

std::string text(const Graph& graph) {
  std::string result;
  for (int value = 0; value < graph.value_count(); ++value) {
    if (graph.source(value) == Graph::Source::node) continue;
    const bool input = graph.source(value) == Graph::Source::input;
    result += fmt::format("%{} {} = {} {}\n", value, graph.type(value).text(),
                          input ? "input" : "variable", graph.name(value));
  }
  for (const Node* node : graph.nodes()) result += line(graph, *node) + '\n';
  return result;
}

std::string graphviz(const Graph& graph) {
  std::string result = "digraph step {\n";
  for (int value = 0; value < graph.value_count(); ++value) {
    if (graph.source(value) == Graph::Source::node) continue;
    result += fmt::format("  v{} [label=\"{}\\n{}\" shape=box];\n", value, graph.name(value),
                          graph.type(value).text());
  }
  for (const Node* node : graph.nodes()) {
    result += fmt::format("  n{} [label=\"{}\"];\n", node->id(), node->label());
    for (const int value : node->in()) {
      const Node* producer = graph.producer(value);
      const std::string from =
          producer != nullptr ? fmt::format("n{}", producer->id()) : fmt::format("v{}", value);
      result +=
          fmt::format("  {} -> n{} [label=\"{}\"];\n", from, node->id(), graph.type(value).text());
    }
  }
  return result + "}\n";
}

}  // namespace snug

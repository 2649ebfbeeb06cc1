#include "snug/interop/weight_groups.h"

#include <map>
#include <set>

namespace snug {
namespace {

class Walk {
 public:
  void visit(const LayerDefinition& layer, const std::string& path) {
    if (!seen_.insert(&layer).second) return;
    const std::string prefix = path.empty() ? "" : path + "/";
    WeightGroup group{prefix + "vars", layer.name, {}};
    for (const bool trainable : {true, false}) {
      for (const VariablePtr& variable : layer.own_variables()) {
        if (variable->trainable() == trainable) group.variables.push_back(variable);
      }
    }
    groups.push_back(std::move(group));
    // Items of one class are numbered in the order of the list.
    std::map<std::string, int> counts;
    for (const Layer& sublayer : layer.sublayers()) {
      const std::string word = snake_case(sublayer->class_name());
      const int count = counts[word]++;
      const std::string item = count == 0 ? word : fmt::format("{}_{}", word, count);
      visit(*sublayer.definition(), prefix + "layers/" + item);
    }
  }

  std::vector<WeightGroup> groups;

 private:
  std::set<const LayerDefinition*> seen_;
};

}  // namespace

std::vector<WeightGroup> weight_groups(const Network& network) {
  Walk walk;
  walk.visit(network, "");
  return std::move(walk.groups);
}

}  // namespace snug

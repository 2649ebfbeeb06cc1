#include "snug/plan/instantiate.h"

#include <algorithm>

#include "snug/base/error.h"
#include "snug/plan/plan.h"

namespace snug {
namespace {

int64_t aligned(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

class Instantiator {
 public:
  Instantiator(const Graph& graph, const Values& results, int64_t rows, const Target& target,
               const InstantiateOptions& options)
      : graph_(graph), results_(results), target_(target), options_(options) {
    instance_.rows = rows;
    instance_.threads = target.threads;
    instance_.value_of.assign(graph.value_count(), -1);
  }

  Instance run() {
    PartitionOptions partitioning = options_.partition;
    partitioning.parts &= !options_.keep_all;
    add_inputs();
    for (const StageChoice& stage :
         partition(graph_, results_, instance_.rows, target_, partitioning))
      add(stage);
    for (const Value& result : results_) pin(result.id());
    add_variables();
    return std::move(instance_);
  }

 private:
  void add_inputs() {
    for (const int input : graph_.of_source(Graph::Source::input)) {
      const bool borrowed =
          std::ranges::any_of(options_.borrowed, [&](const Value& v) { return v.id() == input; });
      if (borrowed) continue;
      const int value = add_value(input, Kind::input, 0);
      instance_.problem.values[value].given = true;
      // The rows stay in their slot until the guard has passed the step.
      instance_.problem.values[value].pinned = true;
    }
  }

  void add_variables() {
    for (const int variable : graph_.of_source(Graph::Source::variable)) {
      instance_.problem.persistent_bytes += static_cast<int64_t>(graph_.type(variable).bytes());
    }
  }

  void pin(int value) {
    const int placed = instance_.value_of[value];
    if (placed >= 0) instance_.problem.values[placed].pinned = true;
  }

  int add_value(int value, Kind kind, int64_t part_rows) {
    const Type& type = graph_.type(value);
    ProblemValue entry{.name = graph_.name(value),
                       .kind = kind,
                       .bytes = static_cast<int64_t>(type.at(instance_.rows).bytes()),
                       .pinned = options_.keep_all};
    if (part_rows > 0 && type.shape.has_rows())
      entry.part_bytes = static_cast<int64_t>(type.at(part_rows).bytes());
    instance_.problem.values.push_back(std::move(entry));
    return instance_.value_of[value] = static_cast<int>(instance_.problem.values.size()) - 1;
  }

  int add_extra_value(std::string name, Kind kind, int64_t bytes) {
    instance_.problem.values.push_back({.name = std::move(name), .kind = kind, .bytes = bytes});
    return static_cast<int>(instance_.problem.values.size()) - 1;
  }

  // Kernels first; the forms that they want prepared are made in a whole stage before.
  void add(const StageChoice& stage) {
    std::vector<Item> items;
    for (const Node* node : stage.nodes) items.push_back(make_item(*node, stage));
    const bool prepares = std::ranges::any_of(
        items, [](const Item& item) { return item.kernel->prepared_bytes() > 0; });
    if (prepares && stage.parts > 1) {
      open_stage({.part_rows = instance_.rows});
      for (Item& item : items) add_prepare(item);
    }
    work_ = {.rows = instance_.rows,
             .part_rows = stage.part_rows,
             .parts = stage.parts,
             .lanes = stage.lanes,
             .threads = stage.threads,
             .cores = target_.threads};
    open_stage({.part_rows = stage.part_rows,
                .parts = stage.parts,
                .lanes = stage.lanes,
                .commits = !stage.nodes.empty() && stage.nodes[0]->commits()});
    for (Item& item : items) {
      if (stage.parts == 1) add_prepare(item);
      add_run(std::move(item), stage);
    }
  }

  void open_stage(const StageShape& shape) {
    instance_.stages.push_back(shape);
    instance_.problem.stages.push_back({.parts = shape.parts, .lanes = shape.lanes});
  }

  Item make_item(const Node& node, const StageChoice& stage) const {
    Item item{.node = &node};
    const Target target{.threads = stage.threads};
    item.kernel = make_kernel(node, stage.part_rows, target);
    const int64_t rest = instance_.rows % stage.part_rows;
    if (stage.parts > 1 && rest != 0) {
      item.rest = make_kernel(node, rest, target);
      SNUG_CHECK(item.rest->prepared_bytes() <= item.kernel->prepared_bytes(), "{}", node.label());
      SNUG_CHECK(item.rest->accumulates() == item.kernel->accumulates(), "{}", node.label());
    }
    item.sums = stage.parts > 1 && node.rows() == Rows::sum;
    return item;
  }

  std::shared_ptr<Kernel> make_kernel(const Node& node, int64_t rows, const Target& target) const {
    Types types = node.input_types();
    for (Type& type : types) type = type.at(rows);
    return node.op().kernel(types, target);
  }

  Argument argument(int value) const {
    return {.value = value,
            .problem_value = instance_.value_of[value],
            .has_rows = graph_.type(value).shape.has_rows()};
  }

  void add_prepare(Item& item) {
    const auto bytes = static_cast<int64_t>(item.kernel->prepared_bytes());
    if (bytes == 0) return;
    item.prepared = add_extra_value(item.node->label() + " prepared", Kind::weight, bytes);
    Item prepare{.what = Item::What::prepare,
                 .node = item.node,
                 .kernel = item.kernel,
                 .out = {{.problem_value = item.prepared}}};
    for (const int value : item.node->in()) {
      prepare.in.push_back(argument(value));
      if (prepare.in.back().has_rows) prepare.in.back() = {};
    }
    add_item(std::move(prepare), {});
  }

  void add_run(Item item, const StageChoice& stage) {
    const Node& node = *item.node;
    ProblemNode entry;
    for (const int value : node.in()) item.in.push_back(argument(value));
    const int64_t part_rows = stage.parts > 1 ? stage.part_rows : 0;
    for (size_t i = 0; i < node.out().size(); ++i) {
      add_value(node.out()[i], kind_of(node), part_rows);
      item.out.push_back(argument(node.out()[i]));
    }
    size_t scratch = item.kernel->scratch_bytes();
    if (item.rest) scratch = std::max(scratch, item.rest->scratch_bytes());
    item.own_scratch_bytes = static_cast<size_t>(aligned(static_cast<int64_t>(scratch)));
    entry.scratch_bytes = static_cast<int64_t>(scratch);
    if (item.sums) add_partials(item, stage, entry);
    for (int output = 0; output < static_cast<int>(node.out().size()) && !item.sums; ++output) {
      add_overwrites(item, output, entry);
    }
    add_item(std::move(item), std::move(entry));
  }

  // Lane 0 adds up in the output itself, each other lane in a partial result of its own. A kernel
  // that cannot add writes to scratch first.
  void add_partials(Item& item, const StageChoice& stage, ProblemNode& entry) {
    for (const Argument& out : item.out) {
      const ProblemValue& value = instance_.problem.values[out.problem_value];
      const int64_t bytes = aligned(value.bytes);
      if (!item.kernel->accumulates()) {
        entry.scratch_bytes = aligned(entry.scratch_bytes) + bytes;
      }
      if (stage.lanes > 1) {
        item.partials.push_back(
            add_extra_value(value.name + " partial", Kind::partial, bytes * (stage.lanes - 1)));
      }
    }
  }

  void add_overwrites(const Item& item, int output, ProblemNode& entry) const {
    const auto allowed_by_rest = item.rest ? item.rest->overwrites(output) : std::vector<int>();
    for (const int input : item.kernel->overwrites(output)) {
      if (item.rest && !std::ranges::count(allowed_by_rest, input)) continue;
      if (item.in[input].problem_value < 0) continue;
      // Positions among the problem's values, which leave out variables.
      int position = 0;
      for (int i = 0; i < input; ++i) position += item.in[i].problem_value >= 0;
      entry.overwrites.push_back({.output = output, .input = position});
    }
  }

  void add_item(Item item, ProblemNode entry) {
    item.stage = static_cast<int>(instance_.stages.size()) - 1;
    entry.name = item.node->label() + (item.what == Item::What::prepare ? " prepare" : "");
    entry.stage = item.stage;
    entry.recomputable = !item.node->commits();
    entry.cost_ns = cost_of(item);
    for (const Argument& in : item.in) {
      if (in.problem_value >= 0) entry.in.push_back(in.problem_value);
    }
    if (item.what == Item::What::run && item.prepared >= 0) entry.in.push_back(item.prepared);
    for (const Argument& out : item.out) entry.out.push_back(out.problem_value);
    entry.out.insert(entry.out.end(), item.partials.begin(), item.partials.end());
    instance_.items.push_back(std::move(item));
    instance_.problem.nodes.push_back(std::move(entry));
  }

  double cost_of(const Item& item) const {
    if (item.what == Item::What::prepare) {
      const int64_t bytes = instance_.problem.values[item.out[0].problem_value].bytes;
      return options_.costs.node_ns + move_ns(options_.costs, 2 * bytes, /*threads=*/1);
    }
    double cost = node_ns(options_.costs, *item.node, work_);
    if (!item.sums) return cost;
    for (const Argument& out : item.out) {
      const int64_t bytes = instance_.problem.values[out.problem_value].bytes;
      const int sums = item.kernel->accumulates() ? work_.lanes - 1 : work_.parts - 1;
      cost += sums * move_ns(options_.costs, 3 * bytes, target_.threads);
    }
    return cost;
  }

  static Kind kind_of(const Node& node) {
    return node.commits()                         ? Kind::state
           : node.scope().starts_with("gradient") ? Kind::gradient
                                                  : Kind::activation;
  }

  const Graph& graph_;
  const Values& results_;
  Target target_;
  const InstantiateOptions& options_;
  Instance instance_;
  StageWork work_;  // Of the stage that is being added.
};

}  // namespace

Instance instantiate(const Graph& graph, const Values& results, int64_t rows, const Target& target,
                     const InstantiateOptions& options) {
  return Instantiator(graph, results, rows, target, options).run();
}

}  // namespace snug

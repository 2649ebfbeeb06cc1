#include "snug/plan/instantiate.h"

#include <algorithm>
#include <numeric>
#include <unordered_set>

#include "snug/base/error.h"
#include "snug/base/resident_limit.h"
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
    for (const int variable : graph.of_source(Graph::Source::variable))
      variable_bytes_ += bytes_without_rows(variable);
  }

  Instance run() {
    PartitionOptions partitioning = options_.partition;
    partitioning.parts &= !options_.keep_all;
    add_inputs();
    const std::vector<StageChoice> stages =
        partition(graph_, results_, instance_.rows, target_, partitioning);
    find_passing(stages);
    for (const StageChoice& stage : stages) add(stage);
    for (const Value& result : results_) pin(result.id());
    instance_.problem.persistent_bytes = variable_bytes_;
    return std::move(instance_);
  }

 private:
  static bool is_in(const std::vector<Value>& list, int value) {
    return std::ranges::any_of(list, [&](const Value& v) { return v.id() == value; });
  }

  void add_inputs() {
    for (const int input : graph_.of_source(Graph::Source::input)) {
      if (is_in(options_.borrowed, input) || is_in(options_.fed, input)) continue;
      const int value = add_value(input, Kind::input, 0);
      instance_.problem.values[value].given = true;
      // The rows stay in their slot until the guard has passed the step.
      instance_.problem.values[value].pinned = true;
    }
  }

  // The values that stages have of each other.
  void find_passing(const std::vector<StageChoice>& stages) {
    passes_.assign(graph_.value_count(), 1);
    std::vector<int> maker(graph_.value_count(), -1);
    for (size_t s = 0; s < stages.size(); ++s) {
      for (const Node* node : stages[s].nodes) {
        for (const int v : node->out()) maker[v] = static_cast<int>(s);
        for (const int v : node->out()) passes_[v] = 0;
        for (const int v : node->in()) passes_[v] |= maker[v] != static_cast<int>(s);
      }
    }
    for (const Value& result : results_) passes_[result.id()] = 1;
  }

  // By node of a stage in parts: the bytes of all rows that it is the first to read, or makes.
  std::vector<int64_t> passing_bytes(const StageChoice& stage) const {
    std::vector<int64_t> bytes(stage.nodes.size(), 0);
    std::unordered_set<int> seen;
    for (size_t n = 0; n < stage.nodes.size(); ++n) {
      const auto add = [&](int v) {
        const Type& type = graph_.type(v);
        if (passes_[v] && type.shape.has_rows() && seen.insert(v).second)
          bytes[n] += static_cast<int64_t>(type.at(instance_.rows).bytes());
      };
      std::ranges::for_each(stage.nodes[n]->in(), add);
      std::ranges::for_each(stage.nodes[n]->out(), add);
    }
    return bytes;
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
    std::vector<Task> tasks;
    for (const Node* node : stage.nodes) tasks.push_back(make_task(*node, stage));
    const bool prepares = std::ranges::any_of(
        tasks, [](const Task& task) { return task.kernel->prepared_bytes() > 0; });
    if (prepares && stage.parts > 1) {
      open_stage({.part_rows = instance_.rows});
      for (Task& task : tasks) add_prepare(task);
    }
    groups_ = stage.groups();
    block_rows_ = stage.block_rows;
    work_ = {.rows = instance_.rows,
             .part_rows = stage.part_rows,
             .parts = stage.parts,
             .lanes = stage.lanes,
             .threads = stage.threads,
             .cores = target_.threads,
             .fixed_bytes = fixed_bytes(stage)};
    open_stage({.part_rows = stage.part_rows,
                .parts = stage.parts,
                .lanes = stage.lanes,
                .commits = !stage.nodes.empty() && stage.nodes[0]->commits(),
                .block_rows = stage.block_rows,
                .group_parts = stage.group_parts});
    std::vector<int64_t> passing(tasks.size(), 0);
    if (stage.parts > 1) passing = passing_bytes(stage);
    const int64_t of_stage = std::accumulate(passing.begin(), passing.end(), int64_t{0});
    for (size_t i = 0; i < tasks.size(); ++i) {
      if (stage.parts == 1) add_prepare(tasks[i]);
      add_feeds(*tasks[i].node, stage);
      add_run(std::move(tasks[i]), stage);
      instance_.problem.nodes.back().cost_ns +=
          pass_ns(options_.costs, passing[i], of_stage,
                  std::min(stage.lanes * stage.threads, target_.threads));
    }
    for (const Value& fed : options_.fed) instance_.value_of[fed.id()] = -1;
  }

  // Of a stage in parts, those of its own nodes; of one that is not, of all weights.
  int64_t fixed_bytes(const StageChoice& stage) const {
    if (stage.parts == 1) return variable_bytes_;
    std::vector<int> values;
    for (const Node* node : stage.nodes) {
      values.insert(values.end(), node->in().begin(), node->in().end());
      values.insert(values.end(), node->out().begin(), node->out().end());
    }
    std::ranges::sort(values);
    values.erase(std::unique(values.begin(), values.end()), values.end());
    int64_t bytes = 0;
    for (const int value : values) bytes += bytes_without_rows(value);
    return bytes;
  }

  int64_t bytes_without_rows(int value) const {
    const Type& type = graph_.type(value);
    return type.shape.is_symbolic() ? 0 : static_cast<int64_t>(type.bytes());
  }

  // Before its first reader of the stage, each of which has rows of its own.
  void add_feeds(const Node& reader, const StageChoice& stage) {
    for (const int value : reader.in()) {
      if (instance_.value_of[value] >= 0 || !is_in(options_.fed, value)) continue;
      add_value(value, Kind::input, stage.parts > 1 ? stage.part_rows : 0);
      add_task({.what = Task::What::feed, .node = &reader, .out = {argument(value)}}, {});
    }
  }

  void open_stage(const StageShape& shape) {
    instance_.stages.push_back(shape);
    instance_.problem.stages.push_back({.parts = shape.parts, .lanes = shape.lanes});
  }

  Task make_task(const Node& node, const StageChoice& stage) const {
    Task task{.node = &node};
    // A block is added up by one thread, whoever else there is.
    const bool in_blocks = stage.block_rows > 0 && node.rows() == Rows::sum;
    const Target target{.threads = in_blocks ? 1 : stage.threads};
    const int64_t part_rows = in_blocks ? stage.block_rows : stage.part_rows;
    task.kernel = make_kernel(node, part_rows, target);
    const int64_t rest = instance_.rows % part_rows;
    if (stage.parts > 1 && rest != 0) {
      task.rest = make_kernel(node, rest, target);
      SNUG_CHECK(task.rest->prepared_bytes() <= task.kernel->prepared_bytes(), "{}", node.label());
      SNUG_CHECK(task.rest->accumulates() == task.kernel->accumulates(), "{}", node.label());
    }
    task.sums = stage.parts > 1 && node.rows() == Rows::sum;
    return task;
  }

  std::shared_ptr<Kernel> make_kernel(const Node& node, int64_t rows, const Target& target) const {
    Types types = node.input_types();
    for (Type& type : types) type = type.at(rows);
    const WithoutResidentLimit whole;  // oneDNN would choose another kernel without a word.
    return node.op().kernel(types, target);
  }

  Argument argument(int value) const {
    return {.value = value,
            .problem_value = instance_.value_of[value],
            .has_rows = graph_.type(value).shape.has_rows()};
  }

  void add_prepare(Task& task) {
    const auto bytes = static_cast<int64_t>(task.kernel->prepared_bytes());
    if (bytes == 0) return;
    task.prepared = add_extra_value(task.node->label() + " prepared", Kind::weight, bytes);
    Task prepare{.what = Task::What::prepare,
                 .node = task.node,
                 .kernel = task.kernel,
                 .out = {{.problem_value = task.prepared}}};
    for (const int value : task.node->in()) {
      prepare.in.push_back(argument(value));
      if (prepare.in.back().has_rows) prepare.in.back() = {};
    }
    add_task(std::move(prepare), {});
  }

  void add_run(Task task, const StageChoice& stage) {
    const Node& node = *task.node;
    ProblemNode entry;
    for (const int value : node.in()) task.in.push_back(argument(value));
    const int64_t part_rows = stage.parts > 1 ? stage.part_rows : 0;
    for (size_t i = 0; i < node.out().size(); ++i) {
      add_value(node.out()[i], kind_of(node), part_rows);
      task.out.push_back(argument(node.out()[i]));
    }
    size_t scratch = task.kernel->scratch_bytes();
    if (task.rest) scratch = std::max(scratch, task.rest->scratch_bytes());
    task.own_scratch_bytes = static_cast<size_t>(aligned(static_cast<int64_t>(scratch)));
    entry.scratch_bytes = static_cast<int64_t>(scratch);
    if (task.sums) add_partials(task, stage, entry);
    for (int output = 0; output < static_cast<int>(node.out().size()) && !task.sums; ++output) {
      add_overwrites(task, output, entry);
    }
    add_task(std::move(task), std::move(entry));
  }

  // Lane 0 adds up in the output itself, each other lane in a partial result of its own. One lane
  // with several groups adds up the first in the output, and each other one in a partial result. A
  // kernel that cannot add writes to scratch first.
  void add_partials(Task& task, const StageChoice& stage, ProblemNode& entry) {
    const int partials = stage.lanes > 1 ? stage.lanes - 1 : stage.groups() > 1 ? 1 : 0;
    for (const Argument& out : task.out) {
      const ProblemValue& value = instance_.problem.values[out.problem_value];
      const int64_t bytes = aligned(value.bytes);
      if (!task.kernel->accumulates()) {
        entry.scratch_bytes = aligned(entry.scratch_bytes) + bytes;
      }
      if (partials > 0) {
        task.partials.push_back(
            add_extra_value(value.name + " partial", Kind::partial, bytes * partials));
      }
    }
  }

  void add_overwrites(const Task& task, int output, ProblemNode& entry) const {
    const auto allowed_by_rest = task.rest ? task.rest->overwrites(output) : std::vector<int>();
    for (const int input : task.kernel->overwrites(output)) {
      if (task.rest && !std::ranges::count(allowed_by_rest, input)) continue;
      if (task.in[input].problem_value < 0) continue;
      // Positions among the problem's values, which leave out variables.
      int position = 0;
      for (int i = 0; i < input; ++i) position += task.in[i].problem_value >= 0;
      entry.overwrites.push_back({.output = output, .input = position});
    }
  }

  void add_task(Task task, ProblemNode entry) {
    task.stage = static_cast<int>(instance_.stages.size()) - 1;
    entry.name = name_of(task);
    entry.stage = task.stage;
    entry.recomputable = !task.node->commits();
    entry.cost_ns = cost_of(task);
    for (const Argument& in : task.in) {
      if (in.problem_value >= 0) entry.in.push_back(in.problem_value);
    }
    if (task.what == Task::What::run && task.prepared >= 0) entry.in.push_back(task.prepared);
    for (const Argument& out : task.out) entry.out.push_back(out.problem_value);
    entry.out.insert(entry.out.end(), task.partials.begin(), task.partials.end());
    instance_.tasks.push_back(std::move(task));
    instance_.problem.nodes.push_back(std::move(entry));
  }

  std::string name_of(const Task& task) const {
    if (task.what == Task::What::feed) return graph_.name(task.out[0].value) + " rows";
    return task.node->label() + (task.what == Task::What::prepare ? " prepare" : "");
  }

  double cost_of(const Task& task) const {
    if (task.what == Task::What::feed) return options_.costs.node_ns + fed_ns(task.out[0].value);
    if (task.what == Task::What::prepare) {
      const int64_t bytes = instance_.problem.values[task.out[0].problem_value].bytes;
      return options_.costs.node_ns + move_ns(options_.costs, 2 * bytes, /*threads=*/1);
    }
    if (!task.sums) return node_ns(options_.costs, *task.node, work_);
    StageWork work = work_;
    int lanes = work.lanes;
    if (block_rows_ > 0) {
      work.part_rows = block_rows_;
      work.parts = static_cast<int>((work.rows + block_rows_ - 1) / block_rows_);
      work.threads = 1;
      lanes = groups_;
    }
    double cost = node_ns(options_.costs, *task.node, work);
    for (const Argument& out : task.out) {
      const int64_t bytes = instance_.problem.values[out.problem_value].bytes;
      const int sums = task.kernel->accumulates() ? lanes - 1 : work.parts - 1;
      cost += sums * move_ns(options_.costs, 3 * bytes, target_.threads);
    }
    return cost;
  }

  double fed_ns(int value) const {
    const auto fed = std::ranges::find(options_.fed, value, &Value::id);
    return feed_ns(graph_, *fed, instance_.rows);
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
  int64_t variable_bytes_ = 0;
  std::vector<char> passes_;  // By value of the graph: more than one stage sees it.
  // Of the stage that is being added.
  StageWork work_;
  int groups_ = 1;
  int64_t block_rows_ = 0;
};

}  // namespace

double feed_ns(const Graph& graph, const Value& input, int64_t rows) {
  // Read, cast and looked at for NaN.
  constexpr double kBytesPerNs = 2;
  return static_cast<double>(graph.type(input.id()).at(rows).bytes()) / kBytesPerNs;
}

Instance instantiate(const Graph& graph, const Values& results, int64_t rows, const Target& target,
                     const InstantiateOptions& options) {
  return Instantiator(graph, results, rows, target, options).run();
}

}  // namespace snug

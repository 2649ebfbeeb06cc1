#include "snug/plan/fit_budget.h"

#include <algorithm>
#include <bit>
#include <deque>
#include <map>
#include <utility>

#include "snug/base/bytes.h"
#include "snug/plan/squeezer.h"
#include "snug/plan/transfers.h"

namespace snug {
namespace {

// One way of running the rows, without its kernels: those of all ways together would be too many.
struct Way {
  PartitionOptions cut;
  bool feeds = false;     // Inputs are brought by the stages that read them.
  double fastest_ns = 0;  // With nothing computed again.
};

constexpr size_t kLongStep = 1500;  // Nodes.

// The ways to run `rows`: as it runs best, then in smaller and smaller parts, at last node by node.
// Parts have their rows brought: what a part has read, the next one need not keep. A stage of many
// nodes reads many values; where those are of all rows, as between batch norms, one node at a time
// needs the least at once.
std::vector<Way> ways(const Graph& graph, int64_t rows, const Target& target,
                      const InstantiateOptions& options) {
  const PartitionOptions& first = options.partition;
  const bool feeds = !options.fed.empty();
  std::vector<Way> all = {{first, false}};
  if (feeds) all.push_back({first, true});
  if (!first.parts || first.forced_part_rows > 0) return all;
  // Where sums are added up in blocks, smaller parts than these are not smaller.
  const int64_t least = first.reproducible ? std::max<int64_t>(1, rows / 64) : 1;
  // Of a long step fewer: each takes memory, and time to be planned.
  const int64_t smaller = graph.nodes().size() > kLongStep ? 4 : 2;
  for (int64_t part = (rows + 1) / 2; part >= least;
       part = part == 1 ? 0 : std::max<int64_t>(1, (part + smaller - 1) / smaller)) {
    for (const bool one_lane : {false, true}) {
      if (!one_lane && target.threads == 1) continue;
      PartitionOptions way = first;
      way.forced_part_rows = part;
      way.one_lane = one_lane;
      all.push_back({way, feeds});
    }
  }
  if (!first.reproducible) {
    PartitionOptions way = first;
    way.parts = false;
    all.push_back({way, false});
  }
  return all;
}

// What was found of a step, by its fingerprint.
struct Known {
  std::vector<int64_t> failed;  // By way: the largest capacity at which no plan was found.
  std::optional<LeastPlan> least;
};
thread_local PlanningScope* planning_scope = nullptr;
thread_local std::map<uint64_t, Known> known;

// Of all that decides a plan.
class Fingerprint {
 public:
  template <typename... Numbers>
  void add(Numbers... numbers) {
    (mix(static_cast<uint64_t>(numbers)), ...);
  }
  void add(double number) { mix(std::bit_cast<uint64_t>(number)); }
  void add(const std::vector<int>& numbers) {
    mix(numbers.size());
    for (const int number : numbers) mix(static_cast<uint64_t>(number));
  }
  void add(const Problem& problem) {
    add(problem.persistent_bytes, problem.alignment, problem.values.size(), problem.nodes.size());
    for (const ProblemValue& v : problem.values)
      add(v.bytes, v.part_bytes, v.given, v.pinned, v.paged);
    for (const ProblemNode& n : problem.nodes) {
      add(n.in);
      add(n.out);
      for (const Overwrite& o : n.overwrites) add(o.output, o.input);
      add(n.cost_ns);
      add(n.scratch_bytes, n.stage, n.recomputable);
    }
    for (const Stage& stage : problem.stages) add(stage.parts, stage.lanes);
  }
  uint64_t value() const { return value_; }

 private:
  void mix(uint64_t number) {
    value_ = (value_ ^ number) * 0x9e3779b97f4a7c15;
    value_ ^= value_ >> 29;
  }
  uint64_t value_ = 0;
};

class Search {
 public:
  Search(const Graph& graph, const Values& results, int64_t rows, const Target& target,
         const InstantiateOptions& options)
      : graph_(graph), results_(results), rows_(rows), target_(target), options_(options) {
    for (Way way : ways(graph, rows, target, options)) {
      problems_.push_back(instance(way).problem);
      squeezers_.emplace_back(problems_.back(), options.spill, options.costs.disk);
      ways_.push_back(way);
      ways_.back().fastest_ns = squeezers_.back().free_ns() + fed_ns(ways_.back());
    }
  }

  // The plan with the least predicted time; nothing where none was found.
  struct Choice {
    Plan plan;
    size_t way = 0;
  };
  std::optional<Choice> choose(int64_t budget_bytes) {
    const int64_t capacity = budget_bytes - problems_[0].persistent_bytes;
    std::optional<Choice> best;
    // As it runs best, where that fits, whatever the prediction says.
    const bool is_free = squeezers_[0].fits_freely(capacity);
    for (const size_t w : is_free ? std::vector<size_t>{0} : by_time()) {
      if (best && ways_[w].fastest_ns >= best->plan.step_ns) break;
      consider(w, capacity, effort(), best);
    }
    if (!best) return {};
    if (effort() == Effort::quick) consider(best->way, capacity, Effort::full, best);
    best->plan.fastest_ns = ways_[0].fastest_ns;
    return best;
  }

  PlannedStep best(int64_t budget_bytes) {
    std::optional<Choice> choice;
    if (!is_known_to_fail(budget_bytes)) choice = choose(budget_bytes);
    if (!choice) choice = least(budget_bytes);
    Plan& plan = choice->plan;
    plan.least_ns = least_ns(budget_bytes - plan.persistent_bytes, plan.step_ns);
    const Way& way = ways_[choice->way];
    Instance chosen = instance(way);
    add_transfers(chosen, plan);
    return {std::move(chosen), std::move(plan), way.cut};
  }

  std::vector<CurvePoint> curve(int points) {
    const int64_t least = least_plan(squeezers_, effort()).budget_bytes;
    const int64_t most = std::max(least, squeezers_[0].free_plan().total_bytes());
    std::vector<CurvePoint> curve;
    for (int i = 0; i < points; ++i) {
      const int64_t budget = least + (most - least) * i / std::max(1, points - 1);
      const std::optional<Choice> choice = choose(budget);
      if (!choice) continue;
      const size_t nodes = problems_[choice->way].nodes.size() + choice->plan.transfers.size();
      const PartitionOptions& cut = ways_[choice->way].cut;
      curve.push_back({.budget_bytes = budget,
                       .step_ns = choice->plan.step_ns,
                       .part_rows = cut.forced_part_rows,
                       .again = static_cast<int>(choice->plan.steps.size() - nodes),
                       .spilled_bytes = spilled_bytes(problems_[choice->way], choice->plan).written,
                       .node_by_node = !cut.parts && options_.partition.parts});
    }
    return curve;
  }

 private:
  // With which the ways are compared.
  Effort effort() const { return graph_.nodes().size() > kLongStep ? Effort::quick : Effort::full; }

  void consider(size_t way, int64_t capacity, Effort effort, std::optional<Choice>& best) {
    if (planning_scope != nullptr && capacity <= known_here().failed[way]) return;
    std::optional<Plan> plan = squeezers_[way].plan(capacity, effort);
    squeezers_[way].forget();
    if (!plan && planning_scope != nullptr) known_here().failed[way] = capacity;
    if (!plan) return;
    plan->step_ns = step_ns(way, *plan);
    if (!best || plan->step_ns < best->plan.step_ns) best = {std::move(*plan), way};
  }

  // The plan of the least budget, where that is within this one: a search for less may find what
  // the one at this budget has not. So more memory never does worse.
  Choice least(int64_t budget_bytes) {
    LeastPlan least = known_or_new_least();
    if (least.budget_bytes > budget_bytes) throw StepBudgetError(least.budget_bytes, budget_bytes);
    least.plan.step_ns = step_ns(least.way, least.plan);
    least.plan.fastest_ns = ways_[0].fastest_ns;
    return {std::move(least.plan), least.way};
  }

  LeastPlan known_or_new_least() {
    if (planning_scope == nullptr) return least_plan(squeezers_, effort());
    std::optional<LeastPlan>& least = known_here().least;
    if (!least) least = least_plan(squeezers_, effort());
    return *least;
  }

  // The search for the least plan has failed at two hundredths less.
  bool is_known_to_fail(int64_t budget_bytes) {
    if (planning_scope == nullptr || !known_here().least) return false;
    return budget_bytes <= known_here().least->budget_bytes / 100 * 98;
  }

  // Of this step.
  Known& known_here() {
    if (!fingerprint_) {
      Fingerprint all;
      for (const Problem& problem : problems_) all.add(problem);
      all.add(options_.spill.allowed, options_.spill.most_bytes);
      all.add(options_.costs.disk.read);
      all.add(options_.costs.disk.write);
      fingerprint_ = all.value();
    }
    Known& here = known[*fingerprint_];
    here.failed.resize(ways_.size(), 0);
    return here;
  }

  // What no plan can beat, over all ways of cutting.
  double least_ns(int64_t capacity, double found_ns) {
    double least = found_ns;
    for (size_t w = 0; w < ways_.size(); ++w) {
      if (ways_[w].fastest_ns >= least || squeezers_[w].least_bytes() > capacity) continue;
      const bool free = squeezers_[w].fits_freely(capacity);
      least = std::min(least, free ? ways_[w].fastest_ns : squeezers_[w].least_cost_ns(capacity));
    }
    return least;
  }

  Instance instance(const Way& way) const {
    InstantiateOptions options = options_;
    options.partition = way.cut;
    if (!way.feeds) options.fed.clear();
    return instantiate(graph_, results_, rows_, target_, options);
  }

  double step_ns(size_t way, const Plan& plan) const {
    return predicted_ns(problems_[way], plan) + fed_ns(ways_[way]);
  }
  // The bringing of the rows, before the step where not within it.
  double fed_ns(const Way& way) const {
    double ns = 0;
    for (const Value& input : way.feeds ? Values() : options_.fed)
      ns += feed_ns(graph_, input, rows_);
    return ns;
  }

  std::vector<size_t> by_time() const {
    std::vector<size_t> order;
    for (size_t w = 0; w < ways_.size(); ++w) order.push_back(w);
    std::ranges::stable_sort(order, {}, [&](size_t w) { return ways_[w].fastest_ns; });
    return order;
  }

  const Graph& graph_;
  const Values& results_;
  int64_t rows_;
  Target target_;
  InstantiateOptions options_;
  std::deque<Problem> problems_;
  std::vector<Squeezer> squeezers_;  // Of each problem.
  std::vector<Way> ways_;
  std::optional<uint64_t> fingerprint_;  // Of all of this.
};

}  // namespace

PlanningScope::PlanningScope() : outer_(std::exchange(planning_scope, this)) {}

PlanningScope::~PlanningScope() {
  planning_scope = outer_;
  if (outer_ == nullptr) known.clear();
}

StepBudgetError::StepBudgetError(int64_t least_bytes, int64_t budget_bytes)
    : BudgetError(
          "the step needs {} at least, but {} are left of the budget for it; {} more would do",
          bytes_text(least_bytes, Rounding::up), bytes_text(std::max<int64_t>(0, budget_bytes)),
          bytes_text(least_bytes - budget_bytes, Rounding::up)),
      least_bytes_(least_bytes),
      budget_bytes_(budget_bytes) {}

std::vector<CurvePoint> budget_curve(const Graph& graph, const Values& results, int64_t rows,
                                     const Target& target, int points,
                                     const InstantiateOptions& options, const CostSource& costs) {
  InstantiateOptions weighed = options;
  if (costs) weighed.costs = costs();
  return Search(graph, results, rows, target, weighed).curve(points);
}

PlannedStep plan_within(const Graph& graph, const Values& results, int64_t rows,
                        const Target& target, int64_t budget_bytes,
                        const InstantiateOptions& options, const CostSource& costs) {
  {
    InstantiateOptions staged = options;
    staged.fed.clear();
    Instance instance = instantiate(graph, results, rows, target, staged);
    // Where its live bytes alone are too many, it is not placed.
    Squeezer free(instance.problem);
    if (free.fits_freely(budget_bytes - instance.problem.persistent_bytes)) {
      Plan plan = free.free_plan();
      return {std::move(instance), std::move(plan), options.partition};
    }
  }
  InstantiateOptions weighed = options;
  if (costs) weighed.costs = costs();
  return Search(graph, results, rows, target, weighed).best(budget_bytes);
}

}  // namespace snug

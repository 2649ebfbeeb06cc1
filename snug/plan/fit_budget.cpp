#include "snug/plan/fit_budget.h"

#include <algorithm>
#include <bit>
#include <deque>
#include <utility>

#include "snug/base/bytes.h"
#include "snug/plan/known_steps.h"
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

constexpr size_t kLongStep = 600;  // Nodes.
constexpr int kFewSizes = 4;       // Of the parts of a long step: each takes time and memory.

// Each size of parts has the rows of the one before, divided by this.
int64_t rows_divisor(const Graph& graph, int64_t rows) {
  if (graph.nodes().size() <= kLongStep) return 2;
  const int halvings = std::bit_width(static_cast<uint64_t>(rows + 1) / 2) - 1;
  return std::max<int64_t>(4, int64_t{1} << ((halvings + kFewSizes - 2) / (kFewSizes - 1)));
}

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
  const int64_t smaller = rows_divisor(graph, rows);
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

// Nobody reads the names of a problem that is only searched, and they are half of its memory.
Problem without_names(Problem problem) {
  for (ProblemValue& value : problem.values) std::string().swap(value.name);
  for (ProblemNode& node : problem.nodes) std::string().swap(node.name);
  return problem;
}

// A file that holds all values at once is large enough: how much more room there is on the disk,
// which is another figure at every look, changes nothing.
SpillLimits useful_limits(const Problem& problem, SpillLimits spill) {
  int64_t all = 0;
  for (const ProblemValue& value : problem.values) all += whole_pages(value.bytes);
  spill.most_bytes = std::min(spill.most_bytes, all);
  return spill;
}

// Budgets of a long step are taken in steps, each less than half a hundredth: those within one have
// one plan, in whatever process and after whatever was tried before.
int64_t step_down(int64_t capacity) {
  if (capacity <= 0) return capacity;
  const auto size = std::bit_floor(static_cast<uint64_t>(capacity)) / 256;
  const auto step = std::max<int64_t>(1, static_cast<int64_t>(size));
  return capacity / step * step;
}

class Search {
 public:
  Search(const Graph& graph, const Values& results, int64_t rows, const Target& target,
         const InstantiateOptions& options)
      : graph_(graph), results_(results), rows_(rows), target_(target), options_(options) {
    const std::vector<Way> wide = ways(graph, rows, target, options);
    std::vector<size_t> stages;
    for (const Way& way : wide) {
      Problem problem = std::move(instance(way).problem);
      stages.push_back(problem.stages.size());
      add(way, std::move(problem));
    }
    for (size_t w = 0; w < wide.size(); ++w) add_narrow(wide[w], stages[w]);
  }

  // The plan with the least predicted time; nothing where none was found.
  struct Choice {
    Plan plan;
    size_t way = 0;
    bool is_rough = false;
  };
  std::optional<Choice> choose(int64_t budget_bytes, Wanted wanted) {
    const int64_t capacity = budget_bytes - problems_[0].persistent_bytes;
    // As it runs best, where that fits, whatever the prediction says.
    if (squeezers_[0].fits_freely(capacity)) return weigh(capacity, {0});
    return known_or_weighed(is_long() ? step_down(capacity) : capacity, wanted);
  }

  PlannedStep best(int64_t budget_bytes, Wanted wanted) {
    std::optional<Choice> choice;
    if (!is_known_to_fail(budget_bytes)) choice = choose(budget_bytes, wanted);
    if (!choice) {
      find_least();
      if (least_bytes_ > budget_bytes) throw StepBudgetError(least_bytes_, budget_bytes);
      choice = std::move(least_);
    }
    return step_of(std::move(*choice), budget_bytes);
  }

  PlannedStep smallest() {
    find_least();
    const int64_t bytes = lightest_->plan.total_bytes();
    return step_of(std::move(*lightest_), bytes);
  }

 private:
  PlannedStep step_of(Choice choice, int64_t budget_bytes) {
    Plan& plan = choice.plan;
    plan.fastest_ns = ways_[0].fastest_ns;
    plan.least_ns = least_ns(budget_bytes - plan.persistent_bytes, plan.step_ns);
    const Way& way = ways_[choice.way];
    Instance chosen = instance(way);
    add_transfers(chosen, plan);
    return {std::move(chosen), std::move(plan), way.cut, choice.is_rough};
  }

  void add(const Way& way, Problem problem) {
    problems_.push_back(without_names(std::move(problem)));
    spill_.push_back(useful_limits(problems_.back(), options_.spill));
    squeezers_.emplace_back(problems_.back(), spill_.back(), options_.costs.disk);
    ways_.push_back(way);
    ways_.back().fastest_ns = squeezers_.back().free_ns() + fed_ns(ways_.back());
  }

  // The same with narrower stages, where there are any: each way more takes time, so not of a long
  // step, nor of those that are slow as they are.
  void add_narrow(Way way, size_t stages) {
    const bool is_slow = way.cut.one_lane && target_.threads > 1;
    if (is_long() || is_slow || !way.cut.parts) return;
    way.cut.narrow = true;
    Problem problem = std::move(instance(way).problem);
    if (problem.stages.size() > stages) add(way, std::move(problem));
  }

  bool is_long() const { return graph_.nodes().size() > kLongStep; }
  // With which the ways are compared.
  Effort effort() const { return is_long() ? Effort::quick : Effort::full; }

  std::optional<Choice> weigh(int64_t capacity, const std::vector<size_t>& ways) {
    std::optional<Choice> best;
    for (const size_t w : ways) {
      if (best && ways_[w].fastest_ns >= best->plan.step_ns) break;
      consider(w, capacity, effort(), best);
    }
    if (best && is_long()) consider(best->way, capacity, Effort::full, best);
    return best;
  }

  // Of a way that is fast without a budget.
  std::optional<Choice> first_found(int64_t capacity) {
    std::optional<Choice> found;
    for (const size_t way : by_time()) {
      if (!found) consider(way, capacity, Effort::quick, found);
    }
    if (found) found->is_rough = true;
    return found;
  }

  void consider(size_t way, int64_t capacity, Effort effort, std::optional<Choice>& best) {
    std::optional<Plan> plan = squeezers_[way].plan(capacity, effort);
    squeezers_[way].forget();
    if (!plan) return;
    plan->step_ns = step_ns(way, *plan);
    if (!best || plan->step_ns < best->plan.step_ns) best = {std::move(*plan), way};
  }

  // Who asks for any plan gets the one that was found for it, whatever else was found since: its
  // kernels are known to fit.
  std::optional<Choice> known_or_weighed(int64_t capacity, Wanted wanted) {
    const bool is_any = wanted == Wanted::any && is_long();
    if (is_any) {
      if (std::optional<Choice> rough = known_rough(capacity)) return rough;
    }
    if (is_tried(capacity)) return known_choice(capacity);
    std::optional<Choice> choice = is_any ? first_found(capacity) : weigh(capacity, by_time());
    if (!choice) {
      if (std::optional<Choice> rough = known_rough(capacity)) return rough;
    }
    keep(capacity, choice);
    return choice;
  }

  std::optional<Choice> known_rough(int64_t capacity) {
    const KnownStep* const known = known_here();
    if (known == nullptr || !known->rough.contains(capacity)) return {};
    return choice_of(known->rough.at(capacity));
  }
  bool is_tried(int64_t capacity) {
    const KnownStep* const known = known_here();
    return known != nullptr && known->tried.contains(capacity);
  }
  std::optional<Choice> known_choice(int64_t capacity) {
    const auto& tried = known_here()->tried.at(capacity);
    return tried ? std::optional(choice_of(*tried)) : std::nullopt;
  }
  void keep(int64_t capacity, const std::optional<Choice>& choice) {
    KnownStep* const known = known_here();
    if (known == nullptr) return;
    std::optional<KnownPlan> now;  // Memory may end here: nothing is kept by halves.
    if (choice) now = {choice->way, recipe_of(choice->plan, capacity), choice->is_rough};
    if (now && now->is_rough)
      known->rough[capacity] = std::move(*now);
    else
      known->tried[capacity] = std::move(now);
  }

  // The plan of the least budget: a search for less may find what the one at a budget has not. So
  // more memory never does worse.
  void find_least() {
    KnownStep* const known = known_here();
    if (known != nullptr && known->least) {
      least_bytes_ = known->least_bytes;
      least_ = choice_of(*known->least);
      lightest_ = choice_of(*known->lightest);
      return;
    }
    count_least_search();
    LeastPlans found = least_plans(squeezers_, effort());
    if (known != nullptr) {
      KnownPlan lightest = known_plan(found.lightest);
      known->least = known_plan(found.least);
      known->lightest = std::move(lightest);
      known->least_bytes = found.least.budget_bytes;
    }
    least_bytes_ = found.least.budget_bytes;
    least_ = choice_of(std::move(found.least));
    lightest_ = choice_of(std::move(found.lightest));
  }

  static KnownPlan known_plan(const LeastPlan& found) {
    const int64_t capacity = found.budget_bytes - found.plan.persistent_bytes;
    return {found.way, recipe_of(found.plan, capacity)};
  }

  Choice choice_of(LeastPlan found) const {
    Choice choice{std::move(found.plan), found.way};
    choice.plan.step_ns = step_ns(choice.way, choice.plan);
    return choice;
  }

  Choice choice_of(const KnownPlan& known) const {
    Choice choice{plan_of(problems_[known.way], known.recipe), known.way, known.is_rough};
    choice.plan.step_ns = step_ns(choice.way, choice.plan);
    return choice;
  }

  // The search for the least plan has failed at two hundredths less.
  bool is_known_to_fail(int64_t budget_bytes) {
    const KnownStep* const known = known_here();
    return known != nullptr && known->least && budget_bytes <= known->least_bytes / 100 * 98;
  }

  // Of this step, where it is kept.
  KnownStep* known_here() {
    if (!fingerprint_) {
      Fingerprint all;
      for (const Problem& problem : problems_) all.add(problem);
      for (const SpillLimits& spill : spill_) all.add(spill.allowed, spill.most_bytes);
      for (const Way& way : ways_) all.add(way.fastest_ns);
      all.add(options_.costs.disk.read);
      all.add(options_.costs.disk.write);
      all.add(options_.costs.disk.start_ns);
      all.add(options_.costs.disk.drag);
      fingerprint_ = all.value();
    }
    return known_step(*fingerprint_);
  }

  // What no plan can beat, over all ways of cutting.
  double least_ns(int64_t capacity, double found_ns) {
    double least = found_ns;
    for (size_t w = 0; w < ways_.size(); ++w) {
      if (ways_[w].fastest_ns >= least || squeezers_[w].least_bytes() > capacity) continue;
      const bool free = squeezers_[w].fits_freely(capacity);
      least = std::min(least, free ? ways_[w].fastest_ns : squeezers_[w].least_cost_ns(capacity));
      squeezers_[w].forget();
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
  std::vector<SpillLimits> spill_;   // Of each problem.
  std::vector<Squeezer> squeezers_;  // Of each problem.
  std::vector<Way> ways_;
  std::optional<uint64_t> fingerprint_;  // Of all of this.
  std::optional<Choice> least_, lightest_;
  int64_t least_bytes_ = 0;  // The budget of the least.
};

}  // namespace

StepBudgetError::StepBudgetError(int64_t least_bytes, int64_t budget_bytes)
    : BudgetError(
          "the step needs {} at least, but {} are left of the budget for it; {} more would do",
          bytes_text(least_bytes, Rounding::up), bytes_text(std::max<int64_t>(0, budget_bytes)),
          bytes_text(least_bytes - budget_bytes, Rounding::up)),
      least_bytes_(least_bytes),
      budget_bytes_(budget_bytes) {}

PlannedStep plan_within(const Graph& graph, const Values& results, int64_t rows,
                        const Target& target, int64_t budget_bytes,
                        const InstantiateOptions& options, const CostSource& costs, Wanted wanted) {
  if (wanted != Wanted::smallest) {
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
  Search search(graph, results, rows, target, weighed);
  return wanted == Wanted::smallest ? search.smallest() : search.best(budget_bytes, wanted);
}

}  // namespace snug

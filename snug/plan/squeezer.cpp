#include "snug/plan/squeezer.h"

#include <algorithm>
#include <array>
#include <utility>

#include "snug/plan/bounds.h"
#include "snug/plan/early_order.h"
#include "snug/plan/late_order.h"
#include "snug/plan/layout.h"
#include "snug/plan/order.h"
#include "snug/plan/planning_deadline.h"
#include "snug/plan/planning_notice.h"
#include "snug/plan/spill.h"
#include "snug/plan/undo.h"

namespace snug {
namespace {

// Live bytes can be brought under the capacity and the offsets still miss it: then the live bytes
// get that much less.
constexpr int kTries = 6;
constexpr int kSmallTries = 40;  // Where the best sequence of each limit is known.

constexpr int kTriesBetween = 6;  // Of other limits, in problems that are not large:
constexpr int kManyTries = 700;   // units.

constexpr int kManyUnits = 6000;
constexpr double kMuchLower = 0.97;
constexpr int kLongProgram = 800;  // Units: with a file, less is looked for without it.
// Of the time without a budget: more than this is worth another look, in the program's own order.
constexpr double kDear = 1.2;

// Of the time without a budget: less than this more is not worth a file.
constexpr double kGoodEnough = 1.01;

// In a large problem, what was found with care and could not be placed is not worth as much care
// once more.
Effort once_more(const UnitGraph& graph, Effort effort) {
  const bool is_large = graph.program_size > kManyUnits;
  return effort == Effort::thorough && is_large ? Effort::full : effort;
}

// Values are made late, and used up early. In a large problem only where that lowers the peak: what
// is found there from the program's own order is placed more often.
std::vector<int> first_order(const UnitGraph& graph) {
  std::vector<int> late = late_order(graph, graph.program());
  std::vector<int> early = late_order(graph, early_order(graph, graph.program()));
  if (graph.program_size <= kManyUnits) return early;
  const auto peak = [&](const std::vector<int>& order) {
    return static_cast<double>(Timeline(graph, order).peak());
  };
  return peak(early) < kMuchLower * peak(late) ? early : late;
}

Aim aim_of(Effort effort) { return effort == Effort::quick ? Aim::quickly : Aim::capacity; }

}  // namespace

Squeezer::Squeezer(const Problem& problem, const SpillLimits& spill, const DiskSpeed& disk)
    : problem_(&problem),
      free_bytes_(live_bytes(problem, program_order(problem))),
      spill_(spill),
      disk_(disk) {
  for (const ProblemNode& node : problem.nodes) free_ns_ += node.cost_ns;
}

const Plan& Squeezer::free_plan() {
  if (!free_) free_ = lay_out(*problem_, program_order(*problem_), kUnlimited, Aim::lowest);
  return *free_;
}

bool Squeezer::fits_freely(int64_t capacity) {
  return free_bytes_ <= capacity && free_plan().arena_bytes <= capacity;
}

const UnitGraph& Squeezer::graph() {
  if (!graph_) graph_ = std::make_unique<UnitGraph>(*problem_);
  return *graph_;
}

int64_t Squeezer::least_bytes() {
  if (!spill_.allowed) return least_without_file();
  if (least_beside_file_ < 0) least_beside_file_ = least_bytes_beside_a_file(graph());
  return least_beside_file_;
}

int64_t Squeezer::least_without_file() {
  if (least_bytes_ < 0) least_bytes_ = snug::least_bytes(graph());
  return least_bytes_;
}

const ExhaustiveResult& Squeezer::truth(int64_t limit) {
  if (truth_limit_ != limit) truth_ = search_exhaustively(graph(), limit);
  truth_limit_ = limit;
  return truth_;
}

const ExhaustiveResult& Squeezer::proof(int64_t limit) {
  if (!has_smaller_results(graph())) return truth(limit);
  if (proof_limit_ != limit) proof_ = search_exhaustively(graph(), limit, Sharing::any);
  proof_limit_ = limit;
  return proof_;
}

const DeepResult& Squeezer::last_look(int64_t capacity) {
  int64_t work = kDeepWork;
  if (looked_limit_ != capacity) looked_ = search_deeply(graph(), capacity, work);
  looked_limit_ = capacity;
  return looked_;
}

bool Squeezer::is_impossible(int64_t capacity) {
  if (fits_freely(capacity)) return false;
  // Where a stage with parts runs again for one of its values, the others may not leave its lanes:
  // the graph does not know that.
  if (std::ranges::any_of(graph().units, &Unit::parts)) return false;
  if (capacity < least_bytes()) return true;
  if (spill_.allowed) return false;
  const ExhaustiveResult& proof = this->proof(capacity);
  if (proof.complete) return !proof.sequence;
  return last_look(capacity).complete && !last_look(capacity).sequence;
}

void Squeezer::forget() {
  free_.reset();
  graph_.reset();
  late_.reset();
  order_.reset();
  truth_ = proof_ = {};
  truth_limit_ = proof_limit_ = -1;
  looked_ = {};
  looked_limit_ = -1;
}

double Squeezer::least_cost_ns(int64_t capacity) {
  if (spill_.allowed) return graph().cost_ns(graph().program());
  const ExhaustiveResult& proof = this->proof(capacity);
  if (proof.complete && proof.sequence) return graph().cost_ns(*proof.sequence);
  return snug::least_cost_ns(graph(), capacity);
}

// The cheapest sequence that was found within the limit: the truth for a small problem; else the
// program's order, and another one if that lowers the peak.
std::optional<std::vector<int>> Squeezer::find_sequence(const UnitGraph& graph, int64_t limit,
                                                        Effort effort) {
  // It would read from the file what is not there yet.
  const bool spills = &graph != graph_.get();
  const ExhaustiveResult truth = spills ? ExhaustiveResult() : this->truth(limit);
  if (truth.complete) return truth.sequence;
  int64_t work = search_work(graph, effort);
  if (!late_) late_ = first_order(this->graph());
  std::optional<std::vector<int>> best = recompute(graph, *late_, limit, effort, work);
  if (best && (effort == Effort::quick || work <= 0)) return best;
  if (!order_) order_ = best_order(this->graph(), *late_);
  if (*order_ != *late_) {
    work = std::max(work, search_work(graph, Effort::quick));
    std::optional<std::vector<int>> other = recompute(graph, *order_, limit, effort, work);
    if (!best || (other && graph.cost_ns(*other) < graph.cost_ns(*best))) best = std::move(other);
  }
  return best || effort != Effort::thorough ? best : recompute_in_any_order(graph, limit);
}

std::optional<Plan> Squeezer::squeeze(int64_t capacity, Effort effort) {
  int64_t limit = capacity;
  Unplaced unplaced;
  std::optional<std::vector<int>> sequence;
  const bool is_small = truth(limit).complete;
  std::optional<Plan> plan;
  for (int i = 0; i < (is_small ? kSmallTries : kTries) && limit >= least_without_file(); ++i) {
    int64_t work = search_work(graph(), Effort::full);
    if (sequence && !is_small)
      sequence = tighten(graph(), *sequence, limit, work);
    else
      sequence.reset();
    if (!sequence)
      sequence = find_sequence(graph(), limit, i > 0 ? once_more(graph(), effort) : effort);
    if (!sequence) break;
    const bool patient = i == 0 && effort == Effort::thorough && graph().program_size <= kManyTries;
    plan = lay_out(*problem_, graph().schedule(*sequence), capacity,
                   patient ? Aim::patiently : aim_of(effort));
    if (plan->arena_bytes <= capacity) break;
    unplaced = {limit, *sequence};
    limit = std::min(limit, plan->max_live_bytes) -
            (is_small ? 1 : (1 + i / 2) * std::max(plan->arena_bytes - capacity, capacity / 1000));
    plan.reset();
  }
  const bool look = effort == Effort::thorough && !is_small && !unplaced.sequence.empty();
  if (plan || !look || graph().program_size > kManyTries) return plan;
  return placed_between(capacity, std::max(limit, least_without_file()), std::move(unplaced));
}

// Whether a sequence can be placed is much a matter of luck, the more so the nearer it is to the
// capacity: between the limit where one could not be and a lower one, at which none was found,
// others are tried.
std::optional<Plan> Squeezer::placed_between(int64_t capacity, int64_t low, Unplaced unplaced) {
  std::optional<Plan> best;
  double least_ns = HUGE_VAL;
  for (int i = 0; i < kTriesBetween && unplaced.limit - low > capacity / 1000; ++i) {
    const int64_t limit = low + (unplaced.limit - low) / 2;
    int64_t work = search_work(graph(), Effort::full);
    auto sequence = tighten(graph(), unplaced.sequence, limit, work);
    if (!sequence) sequence = find_sequence(graph(), limit, Effort::full);
    const bool is_dear = !sequence || graph().cost_ns(*sequence) >= least_ns;
    if (is_dear) low = limit;
    if (is_dear) continue;
    Plan plan = lay_out(*problem_, graph().schedule(*sequence), capacity, Aim::capacity);
    if (plan.arena_bytes > capacity) {
      unplaced = {limit, std::move(*sequence)};
      continue;
    }
    least_ns = predicted_ns(*problem_, plan);
    best = std::move(plan);
    low = limit;
  }
  return best;
}

std::optional<Plan> Squeezer::recomputed(int64_t capacity, Effort effort) {
  if (capacity < least_without_file()) return {};
  // Where there is a file, too, and any plan is hard to find without it, a good one is not there.
  const bool is_long = graph().program_size > kLongProgram;
  if (is_long && spill_.allowed && effort == Effort::full && !squeeze(capacity, Effort::quick))
    return {};
  std::optional<Plan> plan = squeeze(capacity, effort);
  if (effort == Effort::quick) return plan;
  const double least = kDear * graph().cost_ns(graph().program());
  const bool is_dear = plan && predicted_ns(*problem_, *plan) > least;
  // Where there is no late order, the best sequence is known.
  if (effort == Effort::thorough && is_dear && late_ && graph().program_size <= kManyUnits) {
    const std::vector<int> late = std::exchange(*late_, graph().program());
    std::optional<Plan> other = squeeze(capacity, effort);
    *late_ = late;
    if (other && predicted_ns(*problem_, *other) < predicted_ns(*problem_, *plan)) return other;
  }
  if (!plan) plan = squeeze(capacity, Effort::quick);
  return plan || effort != Effort::thorough ? std::move(plan) : looked_for(capacity);
}

// What can be held may not be placed: then the next sequence has to do with a little less.
std::optional<Plan> Squeezer::looked_for(int64_t capacity) {
  int64_t look_work = kDeepWork, work = search_work(graph(), Effort::quick), limit = capacity;
  if (const auto& shared = proof(capacity).sequence) {
    Plan plan = lay_out(*problem_, graph().schedule(*shared), capacity, Aim::capacity);
    if (plan.arena_bytes <= capacity) return plan;
  }
  DeepResult look = last_look(capacity);
  while (look.sequence) {
    const auto sequence = without_waste(graph(), *look.sequence, limit, work);
    Plan plan = lay_out(*problem_, graph().schedule(sequence), capacity, Aim::capacity);
    if (plan.arena_bytes <= capacity) return plan;
    limit = std::min(limit, plan.max_live_bytes) - std::max<int64_t>(1, capacity / 500);
    look = search_deeply(graph(), limit, look_work);
  }
  return {};
}

std::optional<Plan> Squeezer::spilled(int64_t capacity, Effort effort) {
  const auto search = [&](const UnitGraph& graph, int64_t limit, Effort with) {
    return find_sequence(graph, limit, with);
  };
  return Spiller(*problem_, graph(), disk_, spill_.most_bytes).plan(capacity, effort, search);
}

std::optional<Plan> Squeezer::plan(int64_t capacity, Effort effort) {
  PlanningNotice::look_at_clock();
  PlanningDeadline::look_at_clock();
  if (fits_freely(capacity)) return free_plan();
  std::optional<Plan> plan = recomputed(capacity, effort);
  if (!spill_.allowed || (plan && effort == Effort::quick)) return plan;
  if (capacity < least_bytes()) return plan;
  const double found_ns = plan ? predicted_ns(*problem_, *plan) : HUGE_VAL;
  if (found_ns <= kGoodEnough * free_ns_) return plan;
  std::optional<Plan> other = spilled(capacity, effort);
  if (other && predicted_ns(*problem_, *other) < found_ns) plan = std::move(other);
  return plan;
}

namespace {

// What a way has worked out goes when it is left.
class Forgetting {
 public:
  explicit Forgetting(Squeezer& way) : way_(way) {}
  ~Forgetting() { way_.forget(); }
  Forgetting(const Forgetting&) = delete;
  Forgetting& operator=(const Forgetting&) = delete;

 private:
  Squeezer& way_;
};

// Brings the least budget down, way by way.
class Lowering {
 public:
  explicit Lowering(std::span<Squeezer> ways) : ways_(ways) {
    failed_.fill(std::vector<int64_t>(ways.size(), 0));
    persistent_ = ways[0].problem().persistent_bytes;
    for (size_t w = 0; w < ways.size(); ++w) {
      order_.push_back(w);
      ways[w].least_bytes();  // It keeps the figure.
      ways[w].forget();
    }
    std::ranges::stable_sort(order_, {}, [&](size_t w) { return ways[w].least_bytes(); });
    take(0, ways[0].free_plan(), ways[0].free_plan().arena_bytes);
    if (const Plan& plan = ways[order_[0]].free_plan(); plan.arena_bytes < capacity_)
      take(order_[0], plan, plan.arena_bytes);
    for (Squeezer& way : ways) way.forget();
  }

  LeastPlans run(Effort effort) {
    // The one that may go lowest first: the others have only to say whether they go lower still.
    for (const size_t way : order_) lower(way, Effort::quick, effort);
    // Until all of them have failed at two hundredths less than the same figure.
    for (size_t failed = 0, i = 0; failed < order_.size(); i = (i + 1) % order_.size())
      failed = lower(order_[i], effort, effort) ? 1 : failed + 1;
    return std::move(found_);
  }

 private:
  int64_t hundredths_less(int64_t hundredths) const {
    return (capacity_ + persistent_) * (100 - hundredths) / 100 - persistent_;
  }

  void take(size_t way, Plan plan, int64_t capacity) {
    found_.least = {capacity + persistent_, way, std::move(plan)};
    capacity_ = capacity;
    const Plan& least = found_.least.plan;
    const int64_t bytes = capacity + std::ssize(least.steps) * kBytesOfAStep;
    if (bytes < lightest_bytes_) found_.lightest = found_.least;
    lightest_bytes_ = std::min(lightest_bytes_, bytes);
  }

  bool fits(size_t way, int64_t capacity, Effort effort) {
    if (capacity < ways_[way].least_bytes()) return false;
    int64_t& failed = failed_[effort == Effort::quick ? 0 : 1][way];
    if (capacity <= failed) return false;
    std::optional<Plan> plan = ways_[way].plan(capacity, effort);
    if (!plan) failed = capacity;
    if (!plan) return false;
    take(way, std::move(*plan), capacity);
    return true;
  }

  // Brings the budget down as far as this way goes; whether it did.
  bool lower(size_t way, Effort first, Effort most) {
    const int64_t before = capacity_;
    const Forgetting forgetting(ways_[way]);
    // A search with more effort may find what a quick one did not, further down.
    for (Effort effort = first;; effort = most) {
      if (fits(way, hundredths_less(effort == Effort::quick ? 1 : 2), effort))
        descend(way);
      else if (effort == most)
        return capacity_ < before;
    }
  }

  // It goes to somewhere near its floor: so up from there, in steps that double, until there is a
  // plan; then between.
  void descend(size_t way) {
    int64_t low = ways_[way].least_bytes();
    for (int64_t step = (low + persistent_) / 100; low + step < capacity_; step *= 2) {
      if (fits(way, low + step, Effort::quick)) break;
      low += step;
    }
    while (hundredths_less(1) > low) {
      const int64_t middle = low + (capacity_ - low) / 2;
      if (!fits(way, middle, Effort::quick)) low = middle;
    }
  }

  std::span<Squeezer> ways_;
  std::vector<size_t> order_;
  // With quick searches and with others, by way: the largest capacity at which there was no plan.
  std::array<std::vector<int64_t>, 2> failed_;
  int64_t persistent_ = 0;
  LeastPlans found_;
  int64_t lightest_bytes_ = INT64_MAX;  // With its steps.
  int64_t capacity_ = 0;                // At which the least plan was found.
};

}  // namespace

LeastPlans least_plans(std::span<Squeezer> ways, Effort effort) {
  return Lowering(ways).run(effort);
}

}  // namespace snug

#include "snug/plan/recompute.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "snug/plan/beam.h"
#include "snug/plan/eviction.h"
#include "snug/plan/nested.h"
#include "snug/plan/planning_deadline.h"
#include "snug/plan/retime.h"
#include "snug/plan/seeds.h"
#include "snug/plan/undo.h"
#include "snug/plan/walk.h"

namespace snug {
namespace {

constexpr int kPatience = 25;          // Rounds without a gain.
constexpr double kLess = 0.98;         // So much of the bytes above the limit is one.
constexpr size_t kBestStarts = 3;      // Starts that are tried with all settings.
constexpr int kLeastPatience = 40;     // Changes without a gain,
constexpr int kMostPatience = 120;     // and more,
constexpr int kRecreated = 80'000;     // with so many units in all.
constexpr double kPromising = 1.01;    // Times the best.
constexpr size_t kTightened = 40'000;  // Units of all ways to bring a sequence down a little.
constexpr double kDear = 1.22;         // Times the program: when nested starts are tried.
constexpr int kMostStretches = 128;    // Of nested starts,
constexpr int kFewestUnits = 12;       // each with so many units or more.
constexpr size_t kMostPrograms = 6;    // So many times as long as the program they may be,
constexpr double kNear = 1.25;         // and so far above the limit.
constexpr int kLongProgram = 800;      // Units: many rounds over it take long.
constexpr int kLongForCosts = 700;     // Units: in larger problems it takes too long to try,

using Sequence = std::vector<int>;

constexpr std::array<EvictionSettings, 7> kSettings = {
    {{.span_power = 1.0},
     {.span_power = 0.5},
     {.span_power = 1.0, .peaks = 1},
     {.span_power = 0.5, .peaks = 1},
     {.span_power = 0.0},
     {.span_power = 1.0, .share = 0.05, .peaks = 1},
     {.span_power = 0.75, .share = 0.1, .peaks = 8}}};

constexpr int64_t kAsIfWork = 1'500'000;  // for each of some other costs,
constexpr double kNoise = 1.5;            // which differ by e to the power of it at most.

// Bytes above the limit, of all positions.
double excess_bytes(const Timeline& timeline, int64_t limit) {
  double excess = 0;
  for (const int64_t live : timeline.live())
    excess += static_cast<double>(std::max<int64_t>(0, live - limit));
  return excess;
}

// What counts as a gain in a round.
enum class Gain { lower_peak, less_excess };

// Evicts round by round. The work is taken from `work`.
std::optional<Sequence> evict(const UnitGraph& graph, Sequence sequence, int64_t limit,
                              EvictionSettings settings, Gain gain, int64_t& work) {
  int64_t lowest = INT64_MAX;
  double least_excess = HUGE_VAL, price = 0;
  for (int idle = 0; idle < kPatience && work > 0; ++idle) {
    PlanningDeadline::look_at_clock();
    const Timeline timeline(graph, sequence);
    work -= timeline.length();
    if (timeline.peak() <= limit) return sequence;
    if (timeline.peak() < lowest) {
      lowest = timeline.peak();
      idle = 0;
    }
    const double excess = gain == Gain::lower_peak ? HUGE_VAL : excess_bytes(timeline, limit);
    if (excess < kLess * least_excess) {
      least_excess = excess;
      idle = 0;
    }
    Eviction eviction(timeline, limit, settings, price);
    std::optional<Sequence> next = eviction.next();
    work -= eviction.work();
    if (!next) return {};
    price = eviction.price();
    sequence = std::move(*next);
  }
  return {};
}

// Each once.
std::vector<Sequence> starts_from(const Timeline& timeline, int64_t limit, int64_t& work) {
  std::vector<Sequence> starts;
  for (Sequence& seed : seeds(timeline, limit, work)) {
    if (std::ranges::find(starts, seed) == starts.end()) starts.push_back(std::move(seed));
  }
  starts.push_back(timeline.sequence());
  return starts;
}

class Search {
 public:
  Search(const UnitGraph& graph, int64_t limit, int64_t& work)
      : graph_(graph), limit_(limit), work_(work) {}

  bool found() const { return !best_.empty(); }
  double cost_ns() const { return cost_; }
  std::optional<Sequence> take() {
    return found() ? std::optional(std::move(best_)) : std::nullopt;
  }

  // What comes of a start; its cost, or a huge one.
  double consider(const Sequence& start, const EvictionSettings& settings,
                  Gain gain = Gain::lower_peak) {
    return consider(evict(graph_, start, limit_, settings, gain, work_));
  }

  double consider(std::optional<Sequence> sequence) {
    if (!sequence || Timeline(graph_, *sequence).peak() > limit_) return HUGE_VAL;
    Sequence shorter = without_waste(graph_, std::move(*sequence), limit_, work_);
    double cost = graph_.cost_ns(shorter);
    if (cost < kPromising * cost_) {
      retime(shorter);
      cost = graph_.cost_ns(shorter);
    }
    if (found() && cost >= cost_) return cost;
    cost_ = cost;
    best_ = std::move(shorter);
    return cost;
  }

  // Where nothing was found yet.
  void walk_all(const Sequence& sequence) {
    for (const WalkOrder order : {WalkOrder::program, WalkOrder::depth_first, WalkOrder::frugal}) {
      if (!found()) consider(walk(graph_, sequence, limit_, order));
    }
  }

  // What takes one pass over the program: to read everything back, or to drop whatever there is no
  // room for.
  void try_quickly(const Timeline& program) {
    if (std::ranges::any_of(graph_.units, is_read))
      consider(all_read_back(program, limit_), kSettings[0]);
    walk_all(program.sequence());
  }

  // All starts with one setting, then the best of them with all.
  void try_all(const std::vector<Sequence>& starts) {
    std::vector<std::pair<double, size_t>> order;
    for (size_t i = 0; i < starts.size(); ++i)
      order.push_back({consider(starts[i], kSettings[0]), i});
    std::sort(order.begin(), order.end());
    if (order.size() > kBestStarts) order.resize(kBestStarts);
    for (size_t s = 1; s < kSettings.size(); ++s) {
      for (const auto& [cost, i] : order) consider(starts[i], kSettings[s]);
    }
  }

  // Those that promise less than what was found, with work of their own.
  void try_cheaper(const std::vector<Sequence>& starts, int64_t work) {
    for (const Sequence& start : starts) {
      if (graph_.cost_ns(start) >= cost_) continue;
      work_ = std::max(work_, work);
      consider(start, kSettings[0]);
    }
  }

  // All of that with other costs: where the greedy choice goes wrong, as with a first layer that is
  // dear and large, another price leads around it.
  void try_as_if(const Sequence& sequence) {
    for (const double power : {1.5, 2.0, 0.0, 0.0}) as_if_.push_back(with_costs(power));
    for (const UnitGraph& other : as_if_) {
      int64_t work = kAsIfWork;
      Search search(other, limit_, work);
      search.try_all(starts_from(Timeline(other, sequence), limit_, work));
      consider(search.take());
    }
  }

  // Takes back all that is computed again in some stretch of the best sequence and empties gaps
  // there anew, in another way.
  void recreate() {
    const int patience =
        std::clamp(kRecreated / graph_.program_size, kLeastPatience, kMostPatience);
    for (int idle = 0; idle < patience && work_ > 0; ++idle) {
      const double before = cost_;
      const EvictionSettings& settings = kSettings[random(kSettings.size())];
      const size_t other = as_if_.empty() ? 0 : random(2 * as_if_.size() + 1);
      consider(evict(other < as_if_.size() ? as_if_[other] : graph_, ruined(), limit_, settings,
                     Gain::lower_peak, work_));
      if (cost_ < before) idle = 0;
    }
  }

 private:
  // At other times, some of it may not be needed.
  void retime(Sequence& sequence) {
    if (std::ranges::any_of(graph_.units, is_read)) return;
    Sequence moved = retimed(graph_, sequence);
    work_ -= static_cast<int64_t>(moved.size());
    if (Timeline(graph_, moved).peak() > limit_) return;
    moved = without_waste(graph_, std::move(moved), limit_, work_);
    if (graph_.cost_ns(moved) < graph_.cost_ns(sequence)) sequence = std::move(moved);
  }

  // Costs to this power; 0: times some factor.
  UnitGraph with_costs(double power) {
    UnitGraph other = graph_;
    double most = 1e-9;
    for (const Unit& unit : graph_.units) most = std::max(most, unit.cost_ns);
    for (Unit& unit : other.units) {
      const double noise = static_cast<double>(random(1 << 20)) * 0x1p-19 - 1;
      unit.cost_ns = power > 0 ? most * std::pow(unit.cost_ns / most, power)
                               : unit.cost_ns * std::exp(kNoise * noise);
    }
    return other;
  }

  size_t random(size_t below) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return (state_ >> 33) % below;
  }

  // Without some neighbours among what is computed again: at neighbouring times, or of the same
  // stretch of the program at any time.
  Sequence ruined() {
    const Timeline timeline(graph_, best_);
    std::vector<int> again;
    for (int p = 0; p < timeline.length(); ++p) {
      if (!timeline.is_first(p)) again.push_back(p);
    }
    if (again.empty()) return best_;
    if (random(2) == 0) std::ranges::stable_sort(again, {}, [&](int p) { return best_[p]; });
    const size_t count = again.size(), width = 1 + random(std::max<size_t>(1, count / 3));
    const size_t from = random(count), to = std::min(count, from + width);
    std::vector<char> out(best_.size(), 0);
    for (size_t i = from; i < to; ++i) out[again[i]] = 1;
    Sequence sequence;
    for (size_t p = 0; p < best_.size(); ++p) {
      if (!out[p]) sequence.push_back(best_[p]);
    }
    return sequence;
  }

  const UnitGraph& graph_;
  int64_t limit_;
  int64_t& work_;
  Sequence best_;
  std::vector<UnitGraph> as_if_;  // With other costs.
  double cost_ = HUGE_VAL;
  uint64_t state_ = 0x9e3779b97f4a7c15;
};

// Those that came near the limit: what is far from a chain does not.
std::vector<Sequence> nested_starts(const Timeline& timeline, int64_t limit) {
  std::vector<Sequence> starts;
  const int stretches = std::min(kMostStretches, timeline.length() / kFewestUnits);
  for (const double share : {1.2, 1.0}) {
    const auto wanted = static_cast<int64_t>(share * static_cast<double>(limit));
    Sequence nested = nested_sequence(timeline, wanted, stretches);
    if (nested.empty() || nested.size() > kMostPrograms * timeline.length()) continue;
    const Timeline lives(timeline.graph(), nested);
    if (static_cast<double>(lives.peak()) <= kNear * static_cast<double>(limit))
      starts.push_back(std::move(nested));
  }
  return starts;
}

}  // namespace

int64_t search_work(const UnitGraph& graph, Effort effort) {
  const int64_t units = graph.program_size;
  if (effort == Effort::thorough) return 5'000'000 + 700 * units;
  const int64_t full = 1'000'000 + 300 * units;
  return effort == Effort::full ? full : full / 4;
}

std::optional<Sequence> recompute(const UnitGraph& graph, const Sequence& sequence, int64_t limit,
                                  Effort effort) {
  int64_t work = search_work(graph, effort);
  return recompute(graph, sequence, limit, effort, work);
}

std::optional<Sequence> recompute(const UnitGraph& graph, const Sequence& sequence, int64_t limit,
                                  Effort effort, int64_t& work) {
  const Timeline timeline(graph, sequence);
  if (timeline.peak() <= limit) return sequence;
  Search search(graph, limit, work);
  const bool is_long = graph.program_size > kLongProgram;
  if (effort == Effort::quick && is_long) search.try_quickly(timeline);
  if (effort == Effort::quick) {
    for (size_t s = 0; s < kSettings.size() && !search.found(); ++s)
      search.consider(sequence, kSettings[s]);
  } else {
    search.try_all(starts_from(timeline, limit, work));
    // Stretches that run again as a whole are dear: that pays only where much does.
    if (search.cost_ns() > kDear * graph.cost_ns(sequence))
      search.try_cheaper(nested_starts(timeline, limit), search_work(graph, Effort::quick));
    if (effort == Effort::thorough && graph.program_size <= kLongForCosts)
      search.try_as_if(sequence);
    if (search.found()) search.recreate();
  }
  if (effort != Effort::quick || !is_long) search.walk_all(sequence);
  return search.take();
}

std::optional<Sequence> recompute_in_any_order(const UnitGraph& graph, int64_t limit) {
  int64_t work = search_work(graph, Effort::quick);
  Search search(graph, limit, work);
  search.consider(search_widely(graph, limit));
  return search.take();
}

std::optional<Sequence> tighten(const UnitGraph& graph, const Sequence& sequence, int64_t limit,
                                int64_t& work) {
  Search search(graph, limit, work);
  // For a long sequence one way has to do. It may be above the limit in very many places, whose
  // peaks are lower only when the last of them is.
  const size_t ways = std::clamp<size_t>(kTightened / sequence.size(), 1, kSettings.size());
  for (size_t s = 0; s < ways; ++s) search.consider(sequence, kSettings[s]);
  for (size_t s = 0; s < kSettings.size() && !search.found(); ++s)
    search.consider(sequence, kSettings[s], Gain::less_excess);
  return search.take();
}

}  // namespace snug

// Dijkstra's algorithm over (units that have run, values that are there).
#include "snug/plan/exhaustive.h"

#include <algorithm>
#include <queue>
#include <unordered_map>

namespace snug {
namespace {

constexpr size_t kMostUnits = 16, kMostValues = 24;
constexpr size_t kMostStates = 400'000;

using State = uint64_t;  // Bits of the units in the high half, of the values in the low half.
using Mask = uint32_t;

struct Visit {
  double cost = 0;
  State from = 0;
  int unit = -1;  // That led here; -1: a value was dropped.
  bool done = false;
};

class Exhaustive {
 public:
  Exhaustive(const UnitGraph& graph, int64_t limit) : graph_(graph), limit_(limit) {
    for (const Unit& unit : graph.units) {
      reads_.push_back(mask(unit.in));
      writes_.push_back(mask(unit.out));
    }
    for (size_t v = 0; v < graph.bytes.size(); ++v) {
      if (graph.given[v]) given_ |= Mask{1} << v;
      if (graph.pinned[v]) pinned_ |= Mask{1} << v;
    }
  }

  ExhaustiveResult run() {
    if (bytes(given_) > limit_) return {.complete = true};
    reach(State{given_}, 0, 0, -1);
    const Mask all = static_cast<Mask>((uint64_t{1} << graph_.program_size) - 1);
    while (!queue_.empty()) {
      const State state = queue_.top().second;
      queue_.pop();
      Visit& visit = visits_[state];
      if (visit.done) continue;
      visit.done = true;
      const Mask there = static_cast<Mask>(state);
      if (state >> 32 == all && (there & pinned_) == pinned_) return {true, path(state)};
      if (visits_.size() > kMostStates) return {};
      expand(state, visit.cost);
    }
    return {.complete = true};
  }

 private:
  static Mask mask(const std::vector<int>& values) {
    Mask result = 0;
    for (const int v : values) result |= Mask{1} << v;
    return result;
  }

  int64_t bytes(Mask values) const {
    int64_t sum = 0;
    for (size_t v = 0; v < graph_.bytes.size(); ++v) sum += values >> v & 1 ? graph_.bytes[v] : 0;
    return sum;
  }

  void reach(State state, double cost, State from, int unit) {
    const auto [visit, is_new] = visits_.try_emplace(state, Visit{cost, from, unit});
    if (!is_new && (visit->second.done || visit->second.cost <= cost)) return;
    visit->second = {cost, from, unit};
    queue_.push({cost, state});
  }

  void expand(State state, double cost) {
    const Mask ran = static_cast<Mask>(state >> 32), there = static_cast<Mask>(state);
    for (size_t v = 0; v < graph_.bytes.size(); ++v) {
      // A given value that is pinned can never come back.
      if ((there & ~(given_ & pinned_)) >> v & 1) reach(state & ~(State{1} << v), cost, state, -1);
    }
    for (size_t u = 0; u < graph_.units.size(); ++u) {
      if ((reads_[u] & ~there) == 0 && may_run(static_cast<int>(u), ran))
        run_unit(static_cast<int>(u), state, cost);
    }
  }

  // A unit that is not pure runs once, after all units before it and before all units behind it.
  bool may_run(int unit, Mask ran) const {
    const Unit& u = graph_.units[unit];
    if (!u.pure && ran >> unit & 1) return false;
    for (int other = 0; other < graph_.program_size; ++other) {
      const Unit& o = graph_.units[other];
      const bool has_run = ran >> other & 1;
      if (!has_run && (o.section < u.section || (!u.pure && o.pure && o.section == u.section)))
        return false;
      if (has_run && !o.pure && o.section >= u.section && other != unit) return false;
    }
    return true;
  }

  void run_unit(int unit, State state, double cost) {
    const Unit& u = graph_.units[unit];
    const Mask there = static_cast<Mask>(state), after = there | writes_[unit];
    const State run = graph_.is_piece(unit) ? 0 : State{1} << (32 + unit);
    const State next = state | run | State{writes_[unit]};
    const int64_t needed = bytes(after) + u.extra_bytes;
    if (needed <= limit_) reach(next, cost + u.cost_ns, state, unit);
    for (const Overwrite& o : u.overwrites) {
      const int in = u.in[o.input], out = u.out[o.output];
      if (graph_.bytes[in] != graph_.bytes[out] || there >> out & 1) continue;
      if (pinned_ >> in & given_ >> in & 1) continue;
      if (needed - graph_.bytes[out] <= limit_)
        reach(next & ~(State{1} << in), cost + u.cost_ns, state, unit);
    }
  }

  std::vector<int> path(State state) const {
    std::vector<int> sequence;
    for (;;) {
      const Visit& visit = visits_.at(state);
      if (visit.from == 0 && visit.unit < 0 && state == State{given_}) break;
      if (visit.unit >= 0) sequence.push_back(visit.unit);
      state = visit.from;
    }
    std::reverse(sequence.begin(), sequence.end());
    return sequence;
  }

  const UnitGraph& graph_;
  int64_t limit_;
  std::vector<Mask> reads_, writes_;
  Mask given_ = 0, pinned_ = 0;
  std::unordered_map<State, Visit> visits_;
  using Entry = std::pair<double, State>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;
};

}  // namespace

ExhaustiveResult search_exhaustively(const UnitGraph& graph, int64_t limit) {
  if (graph.units.size() > kMostUnits || graph.bytes.size() > kMostValues) return {};
  return Exhaustive(graph, limit).run();
}

}  // namespace snug

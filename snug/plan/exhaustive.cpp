// Dijkstra's algorithm over (units that have run, values that are there). The first execution of a
// unit costs nothing here, since every sequence has it: what is counted is what runs again.
#include "snug/plan/exhaustive.h"

#include <algorithm>
#include <bit>
#include <queue>
#include <tuple>
#include <unordered_map>

namespace snug {
namespace {

constexpr size_t kMostUnits = 16, kMostValues = 64;
constexpr size_t kMostOverwrites = 8;  // Of a unit: all their sets are tried.
constexpr size_t kMostStates = 150'000;

using Values = uint64_t;
using Units = uint32_t;

struct State {
  Units ran = 0;
  Values there = 0;
  bool operator==(const State&) const = default;
};

struct StateHash {
  size_t operator()(const State& state) const {
    return (state.there ^ (uint64_t{state.ran} << 32 | state.ran)) * 0x9e3779b97f4a7c15 >> 17;
  }
};

struct Visit {
  double again_ns = 0;
  State from;
  int unit = -1;  // That led here.
  bool done = false;
};

class Exhaustive {
 public:
  Exhaustive(const UnitGraph& graph, int64_t limit, Sharing sharing)
      : graph_(graph), limit_(limit), sharing_(sharing) {
    for (const Unit& unit : graph.units) {
      reads_.push_back(mask(unit.in));
      writes_.push_back(mask(unit.out));
    }
    for (size_t v = 0; v < graph.bytes.size(); ++v) {
      if (graph.given[v]) given_ |= Values{1} << v;
      if (graph.pinned[v]) pinned_ |= Values{1} << v;
      if (graph.bytes[v] == 0) stays_ |= Values{1} << v;
    }
    stays_ |= given_ & pinned_;
  }

  ExhaustiveResult run() {
    if (bytes(given_) > limit_) return {.complete = true};
    reach({{0, given_}, 0}, {}, -1);
    const Units all = static_cast<Units>((uint64_t{1} << graph_.program_size) - 1);
    while (!queue_.empty()) {
      const State state = std::get<2>(queue_.top());
      queue_.pop();
      Visit& visit = visits_[state];
      if (visit.done) continue;
      visit.done = true;
      if (visits_.size() > kMostStates) return {};
      if (state.ran == all && (state.there & pinned_) == pinned_) return {true, path(state)};
      for (int u = 0; u < static_cast<int>(graph_.units.size()); ++u) {
        if ((reads_[u] & ~state.there) == 0 && may_run(u, state))
          run_unit(u, state, visit.again_ns);
      }
    }
    return {.complete = true};
  }

 private:
  struct Arrival {
    State state;
    double again_ns;
  };

  static Values mask(const std::vector<int>& values) {
    Values result = 0;
    for (const int v : values) result |= Values{1} << v;
    return result;
  }

  int64_t bytes(Values values) const {
    int64_t sum = 0;
    for (; values != 0; values &= values - 1) sum += graph_.bytes[std::countr_zero(values)];
    return sum;
  }

  // Of two states that cost the same, the one that has come farther is looked at first.
  void reach(const Arrival& to, const State& from, int unit) {
    State state = to.state;
    if (state.ran != 0) state.there &= useful(state.ran);
    const auto [visit, is_new] = visits_.try_emplace(state, Visit{to.again_ns, from, unit});
    if (!is_new && (visit->second.done || visit->second.again_ns <= to.again_ns)) return;
    visit->second = {to.again_ns, from, unit};
    queue_.push({to.again_ns, -std::popcount(state.ran), state});
  }

  // Values that a unit may still read that has not run, or that could run again for a useful value.
  Values useful(Units ran) {
    const auto [known, is_new] = useful_.try_emplace(ran, pinned_);
    if (!is_new) return known->second;
    Values useful = pinned_;
    for (bool grows = true; grows;) {
      const Values before = useful;
      for (int u = static_cast<int>(graph_.units.size()) - 1; u >= 0; --u) {
        const bool waits = !graph_.is_piece(u) && (ran >> u & 1) == 0;
        if (waits || (graph_.units[u].pure && (writes_[u] & useful) != 0)) useful |= reads_[u];
      }
      grows = useful != before;
    }
    return known->second = useful;
  }

  // A unit that is not pure runs once, after all units before it and before all units behind it. To
  // run again for nothing does not help.
  bool may_run(int unit, const State& state) {
    const Unit& u = graph_.units[unit];
    const bool again = graph_.is_piece(unit) || (state.ran >> unit & 1) != 0;
    if (again && (!u.pure || (writes_[unit] & useful(state.ran) & ~state.there) == 0)) return false;
    for (int other = 0; other < graph_.program_size; ++other) {
      const Unit& o = graph_.units[other];
      const bool has_run = state.ran >> other & 1;
      if (!has_run && (o.section < u.section || (!u.pure && o.pure && o.section == u.section)))
        return false;
      if (has_run && !o.pure && o.section >= u.section && other != unit) return false;
    }
    return true;
  }

  void run_unit(int unit, const State& state, double again_ns) {
    const Unit& u = graph_.units[unit];
    const bool is_first = !graph_.is_piece(unit) && (state.ran >> unit & 1) == 0;
    const Units ran = state.ran | (is_first ? Units{1} << unit : 0);
    const Values after = state.there | writes_[unit];
    const double cost = again_ns + (is_first ? 0 : u.cost_ns);
    const int64_t excess = bytes(after) + u.extra_bytes - limit_;
    // What is given is there when the first unit runs.
    const Values droppable =
        state.ran == 0 ? 0 : state.there & ~reads_[unit] & ~writes_[unit] & ~stays_;
    const auto reached = [&](Values there) { reach({{ran, there}, cost}, state, unit); };
    share_some(u, 0, {after, droppable, 0}, excess, reached);
  }

  // While a unit runs.
  struct Room {
    Values there, droppable;
    Values placed;  // Results that stand where inputs stood, which are there no longer.
  };

  // All ways to let results stand in the places of inputs, as long as there is too little room. An
  // older copy of such a result goes first.
  template <typename Reached>
  void share_some(const Unit& u, size_t from, const Room& room, int64_t excess,
                  const Reached& reached) {
    drop_some(room.there, room.droppable, excess, reached);
    for (size_t i = from; i < u.overwrites.size() && excess > 0; ++i) {
      const int in = u.in[u.overwrites[i].input], out = u.out[u.overwrites[i].output];
      const Values in_bit = Values{1} << in, out_bit = Values{1} << out;
      if ((room.there & in_bit & ~stays_) == 0 || (room.placed & out_bit) != 0) continue;
      if (!may_share(in, out)) continue;
      share_some(u, i + 1, {room.there & ~in_bit, room.droppable, room.placed | out_bit},
                 excess - graph_.bytes[out], reached);
    }
  }

  bool may_share(int in, int out) const {
    const int64_t before = graph_.bytes[in], after = graph_.bytes[out];
    return after == before || (after < before && sharing_ == Sharing::any);
  }

  // All smallest sets of values that make room for the excess: nothing is dropped without need,
  // because it can still be dropped later.
  template <typename Reached>
  void drop_some(Values there, Values droppable, int64_t excess, const Reached& reached) {
    if (excess <= 0) return reached(there);
    if (bytes(droppable) < excess || visits_.size() > kMostStates) return;
    for (Values rest = droppable; rest != 0; rest &= rest - 1) {
      const Values one = rest & -rest;
      drop_some(there & ~one, rest & ~one, excess - graph_.bytes[std::countr_zero(one)], reached);
    }
  }

  std::vector<int> path(State state) const {
    std::vector<int> sequence;
    for (const Visit* visit = &visits_.at(state); visit->unit >= 0;
         visit = &visits_.at(visit->from))
      sequence.push_back(visit->unit);
    std::reverse(sequence.begin(), sequence.end());
    return sequence;
  }

  const UnitGraph& graph_;
  int64_t limit_;
  Sharing sharing_;
  std::vector<Values> reads_, writes_;
  Values given_ = 0, pinned_ = 0;
  Values stays_ = 0;  // Is never dropped: it could not come back, or it takes nothing.
  std::unordered_map<Units, Values> useful_;
  std::unordered_map<State, Visit, StateHash> visits_;
  using Entry = std::tuple<double, int, State>;
  struct Later {
    bool operator()(const Entry& a, const Entry& b) const {
      return std::tie(std::get<0>(a), std::get<1>(a)) > std::tie(std::get<0>(b), std::get<1>(b));
    }
  };
  std::priority_queue<Entry, std::vector<Entry>, Later> queue_;
};

}  // namespace

bool has_smaller_results(const UnitGraph& graph) {
  return std::ranges::any_of(graph.units, [&](const Unit& unit) {
    return std::ranges::any_of(unit.overwrites, [&](const Overwrite& o) {
      const int64_t bytes = graph.bytes[unit.out[o.output]];
      return bytes > 0 && bytes < graph.bytes[unit.in[o.input]];
    });
  });
}

ExhaustiveResult search_exhaustively(const UnitGraph& graph, int64_t limit, Sharing sharing) {
  if (graph.units.size() > kMostUnits || graph.bytes.size() > kMostValues) return {};
  const auto has_many = [](const Unit& unit) {
    return unit.overwrites_more || unit.overwrites.size() > kMostOverwrites;
  };
  if (std::ranges::any_of(graph.units, has_many)) return {};
  return Exhaustive(graph, limit, sharing).run();
}

}  // namespace snug

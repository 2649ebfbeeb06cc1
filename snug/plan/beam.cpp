#include "snug/plan/beam.h"

#include <algorithm>
#include <queue>
#include <tuple>
#include <unordered_map>

#include "snug/plan/bits.h"

namespace snug {
namespace {

constexpr size_t kMostUnits = 128, kMostValues = 256;
constexpr int kFollowed = 50'000;  // States in all; those of one number of units have equal shares.
constexpr size_t kMostStates = 600'000;     // In all, in equal shares too: some 150 MB.
constexpr int kChoices = 6;                 // Ways of making room for one unit.
constexpr int64_t kMostWork = 100'000'000;  // Values and units looked at: about half a second.

using Units = Bits<kMostUnits>;
using Values = Bits<kMostValues>;

struct State {
  Units ran;
  Values there;
  int64_t bytes = 0;  // Of what is there.
  double again_ns = 0;
  int from = -1, unit = -1;  // The state before, and what ran since.
};

struct Identity {
  size_t operator()(const std::pair<Units, Values>& state) const {
    return state.first.hash() * 31 + state.second.hash();
  }
};

class Beam {
 public:
  Beam(const UnitGraph& graph, int64_t limit)
      : graph_(graph), limit_(limit), rows_(graph.program_size + 1) {
    for (const Unit& unit : graph.units) {
      Values reads, writes;
      for (const int v : unit.in) reads.set(v);
      for (const int v : unit.out) writes.set(v);
      reads_.push_back(reads);
      writes_.push_back(writes);
    }
    for (size_t v = 0; v < graph.bytes.size(); ++v) {
      if (graph.given[v]) given_.set(v);
      if (graph.pinned[v]) pinned_.set(v);
      if (graph.bytes[v] == 0) empty_.set(v);
    }
    always_wanted_ = with_needs(pinned_);
    for (int u = 0; u < graph.program_size; ++u) needs_.push_back(with_needs(reads_[u]));
  }

  std::optional<std::vector<int>> run() {
    reach({.there = given_, .bytes = bytes(given_)});
    const int width = kFollowed / std::max(1, graph_.program_size);
    const size_t share = kMostStates / std::max(1, graph_.program_size);
    for (Row& row : rows_) {
      const size_t most = states_.size() + share;
      for (int i = 0; i < width && !row.empty() && states_.size() < most; ++i) {
        if (work_ > kMostWork) return {};
        const int state = std::get<2>(row.top());
        row.pop();
        if (is_end(states_[state])) return path(state);
        expand(state);
      }
      row = {};
    }
    return {};
  }

 private:
  int64_t bytes(const Values& values) const {
    int64_t sum = 0;
    values.for_each([&](int v) { sum += graph_.bytes[v]; });
    return sum;
  }

  bool is_end(const State& state) const {
    return static_cast<int>(state.ran.count()) == graph_.program_size && pinned_.is_in(state.there);
  }

  void reach(State state) {
    const auto [known, is_new] =
        best_.try_emplace(std::pair(state.ran, state.there), state.again_ns);
    if (!is_new && known->second <= state.again_ns) return;
    known->second = state.again_ns;
    Row& row = rows_[state.ran.count()];
    row.push({state.again_ns, state.bytes, static_cast<int>(states_.size())});
    states_.push_back(std::move(state));
  }

  // And what the units read that make them.
  Values with_needs(Values wanted) const {
    for (int u = static_cast<int>(graph_.units.size()) - 1; u >= 0; --u) {
      if (writes_[u].meets(wanted)) wanted |= reads_[u];
    }
    return wanted;
  }

  // What a unit reads that has not run, or that makes a value which is wanted and not there.
  Values wanted(const State& state) {
    Values wanted = always_wanted_;
    for (int u = 0; u < graph_.program_size; ++u) {
      if (!state.ran[u]) wanted |= needs_[u];
    }
    work_ += graph_.program_size;
    return wanted;
  }

  void expand(int number) {
    const State state = states_[number];
    const Values wanted = this->wanted(state);
    for (int u = 0; u < static_cast<int>(graph_.units.size()); ++u) {
      const bool again = graph_.is_piece(u) || state.ran[u];
      if (!reads_[u].is_in(state.there)) continue;
      if (again && !(writes_[u] - state.there).meets(wanted)) continue;
      State next = state;
      next.from = number;
      next.unit = u;
      next.again_ns += again ? graph_.units[u].cost_ns : 0;
      if (!again) next.ran.set(u);
      run_unit(std::move(next), again ? wanted : this->wanted(next));
    }
  }

  // Makes room, runs, and forgets what nobody will want.
  void run_unit(State next, const Values& wanted_after) {
    const Values used = reads_[next.unit] | writes_[next.unit];
    const Values stays = (given_ & pinned_) | (next.from == 0 ? given_ : Values());
    next.there |= writes_[next.unit];
    const Values may_go = next.there - (used | stays | empty_);
    next.there = next.there - (may_go - wanted_after);
    std::vector<int> droppable;
    (may_go & wanted_after).for_each([&](int v) { droppable.push_back(v); });
    work_ += 2 * static_cast<int64_t>(next.there.count());
    std::stable_sort(droppable.begin(), droppable.end(),
                     [&](int a, int b) { return graph_.bytes[a] > graph_.bytes[b]; });
    choices_ = 0;
    const int64_t excess = bytes(next.there) + graph_.units[next.unit].extra_bytes - limit_;
    drop(next, droppable, 0, excess, wanted_after | stays);
  }

  void drop(const State& next, const std::vector<int>& droppable, size_t from, int64_t excess,
            const Values& after) {
    if (choices_ >= kChoices) return;
    if (excess <= 0) {
      ++choices_;
      State end = next;
      end.there &= after;
      end.bytes = bytes(end.there);
      reach(std::move(end));
      return;
    }
    int64_t most = 0;
    for (size_t i = from; i < droppable.size(); ++i) most += graph_.bytes[droppable[i]];
    work_ += static_cast<int64_t>(droppable.size() - from);
    if (most < excess) return;
    // One value that is enough, the smallest of them first; else the largest and some more.
    for (size_t i = droppable.size(); i-- > from;) {
      if (graph_.bytes[droppable[i]] >= excess) drop_one(next, droppable, i, excess, after);
    }
    for (size_t i = from; i < droppable.size(); ++i) {
      if (graph_.bytes[droppable[i]] < excess) drop_one(next, droppable, i, excess, after);
    }
  }

  void drop_one(State next, const std::vector<int>& droppable, size_t i, int64_t excess,
                const Values& after) {
    next.there.reset(droppable[i]);
    drop(next, droppable, i + 1, excess - graph_.bytes[droppable[i]], after);
  }

  std::vector<int> path(int state) const {
    std::vector<int> sequence;
    for (; states_[state].unit >= 0; state = states_[state].from)
      sequence.push_back(states_[state].unit);
    std::reverse(sequence.begin(), sequence.end());
    return sequence;
  }

  using Entry = std::tuple<double, int64_t, int>;
  using Row = std::priority_queue<Entry, std::vector<Entry>, std::greater<>>;

  const UnitGraph& graph_;
  int64_t limit_;
  std::vector<Values> reads_, writes_;
  std::vector<Values> needs_;  // By unit of the program: what it reads, and what that is made from.
  Values given_, pinned_, empty_, always_wanted_;
  std::vector<Row> rows_;  // By number of units that have run.
  std::vector<State> states_;
  std::unordered_map<std::pair<Units, Values>, double, Identity> best_;
  int choices_ = 0;
  int64_t work_ = 0;
};

}  // namespace

std::optional<std::vector<int>> search_widely(const UnitGraph& graph, int64_t limit) {
  const bool pure = std::ranges::all_of(graph.units, &Unit::pure);
  if (graph.units.size() > kMostUnits || graph.bytes.size() > kMostValues || !pure) return {};
  return Beam(graph, limit).run();
}

}  // namespace snug

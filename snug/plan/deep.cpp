// A state with more values can do all that one with fewer can, for values may be dropped at any
// time. So a unit that fits beside all that is there runs, and only where none does are there
// choices: which unit is next, and what goes for it.
#include "snug/plan/deep.h"

#include <algorithm>
#include <queue>
#include <unordered_set>
#include <utility>

#include "snug/plan/bits.h"

namespace snug {
namespace {

constexpr size_t kMostUnits = 128, kMostValues = 256;
constexpr int kMostChoices = 200;  // Ways of making room for one unit.
constexpr int kShare =
    300;  // States of one number of units, until those with one less have a turn.
constexpr size_t kMostStates = 1'000'000;  // Some 200 MB.
constexpr int kNever = 1 << 20;

using Units = Bits<kMostUnits>;
using Values = Bits<kMostValues>;

struct State {
  Units ran;
  Values there;
  int from = -1;
  std::vector<uint8_t> units;  // That ran since the state before.
};

struct Identity {
  size_t operator()(const std::pair<Units, Values>& state) const {
    return state.first.hash() * 31 + state.second.hash();
  }
};

class Deep {
 public:
  Deep(const UnitGraph& graph, int64_t limit, int64_t& work)
      : graph_(graph), limit_(limit), work_(work), rows_(graph.program_size + 1) {
    for (size_t v = 0; v < graph.bytes.size(); ++v) {
      if (graph.given[v]) given_.set(v);
      if (graph.pinned[v]) pinned_.set(v);
      if (graph.bytes[v] == 0) empty_.set(v);
    }
    Values read;
    for (const Unit& unit : graph.units) {
      reads_.push_back(mask(unit.in));
      writes_.push_back(mask(unit.out));
      read |= reads_.back();
      // Of several ways to share places only one at a time is tried, and none of a smaller result
      // in the place of a larger input, which placement knows.
      complete_ = complete_ && unit.overwrites.size() <= 1;
      for (const Overwrite& o : unit.overwrites)
        complete_ = complete_ && graph.bytes[unit.in[o.input]] <= graph.bytes[unit.out[o.output]];
    }
    for (int u = 0; u < graph.program_size; ++u) {
      if (!writes_[u].meets(read | pinned_)) ends_.set(u);
    }
    always_useful_ = with_needs(pinned_);
    for (int u = 0; u < graph.program_size; ++u)
      needs_.push_back(ends_[u] ? with_needs(reads_[u]) : Values());
  }

  DeepResult run() {
    if (bytes(given_) > limit_) return {.complete = true};
    reach({.there = given_});
    while (end_ < 0) {
      if (work_ <= 0 || states_.size() > kMostStates) return {};
      Row* const row = next_row();
      if (row == nullptr) return {.complete = complete_};
      const int state = row->waiting.top().second;
      row->waiting.pop();
      ++row->followed;
      expand(state);
    }
    return {.complete = true, .sequence = path(end_)};
  }

 private:
  // Those with the same number of units that have run: the least missing first, of those the
  // newest.
  struct Row {
    std::priority_queue<std::pair<int, int>> waiting;
    int followed = 0;
  };

  static Values mask(const std::vector<int>& values) {
    Values result;
    for (const int v : values) result.set(v);
    return result;
  }

  int64_t bytes(const Values& values) const {
    int64_t sum = 0;
    values.for_each([&](int v) { sum += graph_.bytes[v]; });
    return sum;
  }

  // The most units, but each number has its share.
  Row* next_row() {
    Row* best = nullptr;
    int best_rank = 0;
    for (int ran = 0; ran < static_cast<int>(rows_.size()); ++ran) {
      if (rows_[ran].waiting.empty()) continue;
      const int rank = ran - rows_[ran].followed / kShare;
      if (best != nullptr && rank < best_rank) continue;
      best = &rows_[ran];
      best_rank = rank;
    }
    return best;
  }

  // Whether a unit that makes nothing for others, or makes what must be there at the end, has run
  // says whether all before it have. So of the units that ran, only such tell states apart.
  void reach(State state) {
    if (!seen_.insert({state.ran & ends_, state.there}).second) return;
    const int missing = this->missing(state);
    if (missing == kNever) return;
    const auto number = static_cast<int>(states_.size());
    if (ends_.is_in(state.ran) && pinned_.is_in(state.there)) end_ = number;
    rows_[state.ran.count()].waiting.push({-missing, number});
    states_.push_back(std::move(state));
  }

  // What must run again before the next unit of the program can; kNever: something cannot be made
  // from what is there.
  int missing(const State& state) {
    work_ -= graph_.program_size;
    Values can = state.there, made = state.there;
    int least = kNever;
    for (int u = 0; u < graph_.program_size; ++u) {
      if (!reads_[u].is_in(can)) {
        if (ends_[u] && !state.ran[u]) return kNever;
        continue;
      }
      can |= writes_[u];
      if (state.ran[u])
        made |= writes_[u];
      else if (reads_[u].is_in(made))
        least = std::min(least, missing_for(u, state.there, least));
    }
    if (!pinned_.is_in(can)) return kNever;
    return least == kNever ? 0 : least;
  }

  // No more is counted once it is as much as `enough`.
  int missing_for(int unit, const Values& there, int enough) {
    Values wanted = reads_[unit] - there;
    int count = 0, u = unit - 1;
    for (; u >= 0 && count < enough && wanted.any(); --u) {
      if (!writes_[u].meets(wanted)) continue;
      ++count;
      wanted = (wanted - writes_[u]) | (reads_[u] - there);
    }
    work_ -= unit - u;
    return count;
  }

  // And what the units read that make them.
  Values with_needs(Values wanted) const {
    for (int u = graph_.program_size - 1; u >= 0; --u) {
      if (writes_[u].meets(wanted)) wanted |= reads_[u];
    }
    return wanted;
  }

  // What is needed at the end, or read by a unit that has not run or that makes what is useful.
  Values useful(const Units& ran) const {
    Values useful = always_useful_;
    (ends_ - ran).for_each([&](int u) { useful |= needs_[u]; });
    return useful;
  }

  bool may_run(int unit, const State& state, const Values& useful) const {
    if (!reads_[unit].is_in(state.there)) return false;
    return (ends_[unit] && !state.ran[unit]) || (writes_[unit] - state.there).meets(useful);
  }

  void expand(int number) {
    State state = states_[number];
    state.from = number;
    const Values useful = this->useful(state.ran);
    work_ -= graph_.program_size;
    for (int u = 0; u < graph_.program_size && end_ < 0 && work_ > 0; ++u) {
      if (may_run(u, state, useful)) make_room(state, u);
    }
  }

  void make_room(const State& state, int unit) {
    const Unit& u = graph_.units[unit];
    const Values after = state.there | writes_[unit];
    const int64_t excess = bytes(after) + u.extra_bytes - limit_;
    // What is given is there when the first unit runs.
    const Values stays = state.ran.none() ? state.there : given_ & pinned_;
    std::vector<int> droppable;
    (state.there - (reads_[unit] | writes_[unit] | stays | empty_)).for_each([&](int v) {
      droppable.push_back(v);
    });
    // Largest first: so none goes that need not.
    std::ranges::stable_sort(droppable, std::greater<>(), [&](int v) { return graph_.bytes[v]; });
    choices_ = 0;
    const auto run = [&](const Values& there) { run_unit(state, unit, there); };
    drop(droppable, 0, after, excess, run);
    for (const Overwrite& o : u.overwrites) {
      const int in = u.in[o.input], out = u.out[o.output];
      const bool may = graph_.bytes[in] == graph_.bytes[out];  // An older copy of it goes first.
      if (!may || (given_[in] && pinned_[in])) continue;
      drop(droppable, 0, Values(after).reset(in), excess - graph_.bytes[out], run);
    }
  }

  template <typename Run>
  void drop(const std::vector<int>& droppable, size_t from, const Values& there, int64_t excess,
            const Run& run) {
    if (excess <= 0) {
      if (++choices_ <= kMostChoices) return run(there);
      complete_ = false;
      return;
    }
    int64_t most = 0;
    for (size_t i = from; i < droppable.size(); ++i) most += graph_.bytes[droppable[i]];
    work_ -= static_cast<int64_t>(droppable.size() - from);
    if (most < excess) return;
    for (size_t i = from; i < droppable.size() && choices_ <= kMostChoices && work_ > 0; ++i)
      drop(droppable, i + 1, Values(there).reset(droppable[i]), excess - graph_.bytes[droppable[i]],
           run);
  }

  void run_unit(const State& state, int unit, const Values& there) {
    State next{.ran = state.ran, .there = there, .from = state.from};
    note(next, unit);
    for (int u = unit; u >= 0;) {
      const Values useful = this->useful(next.ran);
      next.there &= useful;
      u = free_unit(next, useful);
      work_ -= graph_.program_size;
      if (u >= 0) note(next, u);
    }
    reach(std::move(next));
  }

  static void note(State& state, int unit) {
    state.ran.set(unit);
    state.units.push_back(static_cast<uint8_t>(unit));
  }

  // One that fits beside all that is there, sooner one that has not run yet; -1: there is none. Its
  // values are there then.
  int free_unit(State& state, const Values& useful) const {
    const int64_t room = limit_ - bytes(state.there);
    int best = -1;
    for (int u = 0; u < graph_.program_size; ++u) {
      if ((best >= 0 && state.ran[u]) || !may_run(u, state, useful)) continue;
      int64_t wanted = graph_.units[u].extra_bytes;
      for (const int v : graph_.units[u].out) wanted += state.there[v] ? 0 : graph_.bytes[v];
      if (wanted > room) continue;
      best = u;
      if (!state.ran[u]) break;
    }
    if (best >= 0) state.there |= writes_[best];
    return best;
  }

  std::vector<int> path(int number) const {
    std::vector<int> sequence;
    for (; number >= 0; number = states_[number].from)
      sequence.insert(sequence.begin(), states_[number].units.begin(), states_[number].units.end());
    return sequence;
  }

  const UnitGraph& graph_;
  int64_t limit_;
  int64_t& work_;
  bool complete_ = true;  // All choices were tried.
  std::vector<Values> reads_, writes_;
  std::vector<Values> needs_;  // By unit of `ends_`: what it reads, and what that is made from.
  Values given_, pinned_, empty_, always_useful_;
  Units ends_;             // Units whose values nobody reads nor needs at the end.
  std::vector<Row> rows_;  // By number of units that have run.
  std::vector<State> states_;
  std::unordered_set<std::pair<Units, Values>, Identity> seen_;
  int end_ = -1;
  int choices_ = 0;
};

}  // namespace

DeepResult search_deeply(const UnitGraph& graph, int64_t limit, int64_t& work) {
  const bool pure = std::ranges::all_of(graph.units, &Unit::pure);
  const bool fits = graph.units.size() <= kMostUnits && graph.bytes.size() <= kMostValues;
  const auto program_size = static_cast<size_t>(graph.program_size);
  if (!fits || !pure || graph.units.size() != program_size) return {};
  return Deep(graph, limit, work).run();
}

}  // namespace snug

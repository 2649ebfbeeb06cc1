#include "snug/plan/recompute.h"

#include <algorithm>
#include <array>

#include "snug/plan/demand.h"
#include "snug/plan/eviction.h"
#include "snug/plan/instant.h"

namespace snug {
namespace {

constexpr int kMaxRounds = 3000;
constexpr int kPatience = 80;  // Rounds without a lower peak.

using Sequence = std::vector<int>;

std::optional<Sequence> evict(const UnitGraph& graph, Sequence sequence, int64_t limit,
                              EvictionSettings settings) {
  int64_t lowest = INT64_MAX;
  double price = 0;
  for (int round = 0, idle = 0; round < kMaxRounds && idle < kPatience; ++round, ++idle) {
    const Timeline timeline(graph, sequence);
    if (timeline.peak() <= limit) return sequence;
    if (timeline.peak() < lowest) {
      lowest = timeline.peak();
      idle = 0;
    }
    Eviction eviction(timeline, limit, settings, price);
    std::optional<Sequence> next = eviction.next();
    if (!next) return {};
    price = eviction.price();
    sequence = std::move(*next);
  }
  return {};
}

// Takes back what was computed again without need, the dearest first: the copy before it can live
// on where there is room.
class Undo {
 public:
  Undo(const Timeline& timeline, int64_t limit)
      : timeline_(timeline),
        graph_(timeline.graph()),
        limit_(limit),
        live_(timeline.live()),
        busy_(graph_.bytes.size(), 0) {}

  // The shorter sequence; nothing when all is needed.
  std::optional<Sequence> next() {
    std::vector<int> again;
    for (int p = 0; p < timeline_.length(); ++p) {
      if (!timeline_.is_first(p)) again.push_back(p);
    }
    std::stable_sort(again.begin(), again.end(),
                     [&](int a, int b) { return unit(a).cost_ns > unit(b).cost_ns; });
    std::vector<char> removed(timeline_.length(), 0);
    bool any = false;
    for (const int p : again) {
      if (!try_without(p)) continue;
      removed[p] = 1;
      any = true;
    }
    if (!any) return {};
    Sequence sequence;
    for (int p = 0; p < timeline_.length(); ++p) {
      if (!removed[p]) sequence.push_back(timeline_.sequence()[p]);
    }
    return sequence;
  }

 private:
  const Unit& unit(int position) const { return graph_.units[timeline_.sequence()[position]]; }

  bool try_without(int position) {
    const Unit& u = unit(position);
    const auto busy = [&](int v) { return busy_[v] != 0; };
    if (std::any_of(u.out.begin(), u.out.end(), busy) ||
        std::any_of(u.in.begin(), u.in.end(), busy))
      return false;
    size_t done = 0;
    bool fits = true;
    for (; done < u.out.size() && fits; ++done) fits = add(u.out[done], position, +1);
    if (!fits) {
      for (size_t i = 0; i < done; ++i) add(u.out[i], position, -1);
      return false;
    }
    for (const int v : u.out) busy_[v] = 1;
    for (const int v : u.in) busy_[v] = 1;
    return true;
  }

  // Lets the copy before the position live up to it. False: it does not fit.
  bool add(int value, int position, int sign) {
    const std::span<const Touch> touches = timeline_.touches(value);
    const int at = timeline_.touch_at(value, position);
    if (at + 1 >= static_cast<int>(touches.size()) || touches[at + 1].write)
      return true;  // Nobody reads this copy.
    bool fits = true;
    for (int p = touches[at - 1].position + 1; p <= position; ++p) {
      live_[p] += sign * graph_.bytes[value];
      fits = fits && (p == position || live_[p] <= limit_);
    }
    return fits;
  }

  const Timeline& timeline_;
  const UnitGraph& graph_;
  int64_t limit_;
  std::vector<int64_t> live_;
  std::vector<char> busy_;  // By value: its touches are no longer those of the timeline.
};

Sequence without_waste(const UnitGraph& graph, Sequence sequence, int64_t limit) {
  for (;;) {
    std::optional<Sequence> shorter = Undo(Timeline(graph, sequence), limit).next();
    if (!shorter || Timeline(graph, *shorter).peak() > limit) return sequence;
    sequence = std::move(*shorter);
  }
}

}  // namespace

std::optional<Sequence> recompute(const UnitGraph& graph, const Sequence& sequence, int64_t limit) {
  const Timeline timeline(graph, sequence);
  if (timeline.peak() <= limit) return sequence;
  std::vector<Sequence> seeds{sequence};
  const int at = std::min(timeline.peak_position(), timeline.length() - 1);
  for (const double share : {1.0, 0.85, 0.7}) {
    const auto room = static_cast<int64_t>(share * static_cast<double>(limit));
    seeds.push_back(make_on_demand(timeline, at, Instant(timeline, at, room).kept()));
  }
  constexpr std::array<EvictionSettings, 3> kSettings = {{{1.0, 0.25}, {0.5, 0.25}, {0.0, 0.1}}};
  std::optional<Sequence> best;
  for (const Sequence& seed : seeds) {
    for (const EvictionSettings& settings : kSettings) {
      std::optional<Sequence> found = evict(graph, seed, limit, settings);
      if (!found) continue;
      found = without_waste(graph, std::move(*found), limit);
      if (!best || graph.cost_ns(*found) < graph.cost_ns(*best)) best = std::move(found);
    }
  }
  return best;
}

}  // namespace snug

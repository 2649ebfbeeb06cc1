#include "snug/plan/recompute.h"

#include <algorithm>
#include <array>

#include "snug/plan/demand.h"
#include "snug/plan/eviction.h"
#include "snug/plan/instant.h"
#include "snug/plan/walk.h"

namespace snug {
namespace {

constexpr int kPatience = 25;  // Rounds without a lower peak.
// Positions and units looked at: some seconds for ten thousand units.
constexpr int64_t kWork = 10'000'000, kQuickWork = 1'000'000;

using Sequence = std::vector<int>;

constexpr std::array<EvictionSettings, 7> kSettings = {
    {{.span_power = 1.0},
     {.span_power = 0.5},
     {.span_power = 1.0, .peaks = 1},
     {.span_power = 0.5, .peaks = 1},
     {.span_power = 0.0},
     {.span_power = 1.0, .share = 0.05, .peaks = 1},
     {.span_power = 0.75, .share = 0.1, .peaks = 8}}};

// Evicts round by round. The work is taken from `work`.
std::optional<Sequence> evict(const UnitGraph& graph, Sequence sequence, int64_t limit,
                              EvictionSettings settings, int64_t& work) {
  int64_t lowest = INT64_MAX;
  double price = 0;
  for (int idle = 0; idle < kPatience && work > 0; ++idle) {
    const Timeline timeline(graph, sequence);
    work -= timeline.length();
    if (timeline.peak() <= limit) return sequence;
    if (timeline.peak() < lowest) {
      lowest = timeline.peak();
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

std::optional<Sequence> recompute(const UnitGraph& graph, const Sequence& sequence, int64_t limit,
                                  Effort effort) {
  const Timeline timeline(graph, sequence);
  if (timeline.peak() <= limit) return sequence;
  std::vector<Sequence> seeds{sequence};
  if (effort == Effort::full) {
    const int at = std::min(timeline.peak_position(), timeline.length() - 1);
    seeds.push_back(make_on_demand(timeline, at, Instant(timeline, at, limit).kept()));
  }
  std::optional<Sequence> best;
  const auto consider = [&](std::optional<Sequence> found) {
    if (!found || Timeline(graph, *found).peak() > limit) return;
    found = without_waste(graph, std::move(*found), limit);
    if (!best || graph.cost_ns(*found) < graph.cost_ns(*best)) best = std::move(found);
  };
  int64_t work = effort == Effort::full ? kWork : kQuickWork;
  for (const EvictionSettings& settings : kSettings) {
    for (const Sequence& seed : seeds) consider(evict(graph, seed, limit, settings, work));
    if (effort == Effort::quick && best) return best;
  }
  for (const WalkOrder order : {WalkOrder::program, WalkOrder::depth_first}) {
    if (!best) consider(walk(graph, limit, order));
  }
  return best;
}

}  // namespace snug

#include "snug/plan/recompute.h"

#include <algorithm>
#include <array>

#include "snug/plan/demand.h"
#include "snug/plan/eviction.h"
#include "snug/plan/instant.h"
#include "snug/plan/range_max.h"
#include "snug/plan/walk.h"

namespace snug {
namespace {

constexpr int kPatience = 25;  // Rounds without a lower peak.

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
  std::optional<Sequence> next(int64_t& work) {
    std::vector<int> again;
    for (int p = 0; p < timeline_.length(); ++p) {
      if (!timeline_.is_first(p)) again.push_back(p);
    }
    work -= timeline_.length() + static_cast<int64_t>(again.size());
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
    for (size_t i = 0; i < u.out.size(); ++i) {
      if (add(u.out[i], position)) continue;
      for (size_t done = 0; done < i; ++done) take_back(u.out[done], position);
      return false;
    }
    for (const int v : u.out) busy_[v] = 1;
    for (const int v : u.in) busy_[v] = 1;
    return true;
  }

  // Where the copy before the position would live on; nothing where nobody reads the one that is
  // made at the position.
  std::optional<int> lives_from(int value, int position) const {
    const std::span<const Touch> touches = timeline_.touches(value);
    const int at = timeline_.touch_at(value, position);
    if (at + 1 >= static_cast<int>(touches.size()) || touches[at + 1].write) return {};
    return touches[at - 1].position + 1;
  }

  // Lets the copy before the position live up to it. False: it does not fit.
  bool add(int value, int position) {
    const std::optional<int> from = lives_from(value, position);
    if (!from) return true;
    if (live_.most(*from, position) + graph_.bytes[value] > limit_) return false;
    live_.add(*from, position + 1, graph_.bytes[value]);
    return true;
  }

  void take_back(int value, int position) {
    const std::optional<int> from = lives_from(value, position);
    if (from) live_.add(*from, position + 1, -graph_.bytes[value]);
  }

  const Timeline& timeline_;
  const UnitGraph& graph_;
  int64_t limit_;
  RangeMax live_;           // By position.
  std::vector<char> busy_;  // By value: its touches are no longer those of the timeline.
};

Sequence without_waste(const UnitGraph& graph, Sequence sequence, int64_t limit, int64_t& work) {
  for (;;) {
    std::optional<Sequence> shorter = Undo(Timeline(graph, sequence), limit).next(work);
    if (!shorter || Timeline(graph, *shorter).peak() > limit) return sequence;
    sequence = std::move(*shorter);
  }
}

}  // namespace

int64_t search_work(const UnitGraph& graph, Effort effort) {
  const int64_t full = 1'000'000 + int64_t{300} * graph.program_size;
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
  std::vector<Sequence> seeds{sequence};
  if (effort == Effort::full) {
    const int at = std::min(timeline.peak_position(), timeline.length() - 1);
    seeds.push_back(make_on_demand(timeline, at, Instant(timeline, at, limit).kept()));
  }
  std::optional<Sequence> best;
  const auto consider = [&](std::optional<Sequence> found) {
    if (!found || Timeline(graph, *found).peak() > limit) return;
    found = without_waste(graph, std::move(*found), limit, work);
    if (!best || graph.cost_ns(*found) < graph.cost_ns(*best)) best = std::move(found);
  };
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

#include "snug/plan/undo.h"

#include <algorithm>
#include <optional>
#include <span>

#include "snug/plan/range_max.h"
#include "snug/plan/timeline.h"

namespace snug {
namespace {

using Sequence = std::vector<int>;

// The copy before an execution can live on in its place where there is room.
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

  // Where the copy before the position would live on, which there must be; nothing where nobody
  // reads the one that is made at the position.
  std::optional<int> lives_from(int value, int position) const {
    const std::span<const Touch> touches = timeline_.touches(value);
    const int at = timeline_.touch_at(value, position);
    if (at + 1 >= static_cast<int>(touches.size()) || touches[at + 1].write) return {};
    return touches[at - 1].position + 1;
  }

  // Lets the copy before the position live up to it. False: there is none, or it does not fit.
  bool add(int value, int position) {
    if (timeline_.touch_at(value, position) == 0) return false;
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

// Without the executions whose values nobody reads before they are made once more, as long as every
// unit of the program still runs: often a value is needed so late that its first execution can
// wait. What is read back must have been made before.
Sequence without_unread(const UnitGraph& graph, const Sequence& sequence) {
  std::vector<char> wanted = graph.pinned;
  std::vector<int> left(graph.units.size(), 0);
  for (const int u : sequence) ++left[u];
  Sequence kept;
  for (auto u = sequence.rbegin(); u != sequence.rend(); ++u) {
    const Unit& unit = graph.units[*u];
    const bool read =
        std::any_of(unit.out.begin(), unit.out.end(), [&](int v) { return wanted[v]; });
    if (!read && (left[*u] > 1 || graph.is_piece(*u))) {
      --left[*u];
      continue;
    }
    kept.push_back(*u);
    for (const int v : unit.out) wanted[v] = is_read(unit) ? 1 : 0;
    for (const int v : unit.in) wanted[v] = 1;
  }
  return {kept.rbegin(), kept.rend()};
}

}  // namespace

std::vector<int> without_waste(const UnitGraph& graph, std::vector<int> sequence, int64_t limit,
                               int64_t& work) {
  for (;;) {
    work -= static_cast<int64_t>(sequence.size());
    sequence = without_unread(graph, sequence);
    std::optional<Sequence> shorter = Undo(Timeline(graph, sequence), limit).next(work);
    if (!shorter || Timeline(graph, *shorter).peak() > limit) return sequence;
    sequence = std::move(*shorter);
  }
}

}  // namespace snug

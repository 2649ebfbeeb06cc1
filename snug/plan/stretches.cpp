#include "snug/plan/stretches.h"

#include <algorithm>

namespace snug {
namespace {

constexpr int64_t kFew = 8;  // Parts of what a stretch saves.

}  // namespace

Stretches::Stretches(const Timeline& program, int wanted) {
  find_top(program);
  cut(program, wanted);
  find_down(program);
  measure_up(program);
  measure_crossing(program);
  measure_down(program);
}

void Stretches::find_top(const Timeline& program) {
  const UnitGraph& graph = program.graph();
  const int values = static_cast<int>(graph.bytes.size());
  std::vector<int64_t> waiting(program.length() + 1, 0);
  made_.assign(values, -1);
  last_up_.assign(values, -1);
  saved_.assign(values, 0);
  for (int v = 0; v < values; ++v) {
    const auto touches = program.touches(v);
    if (touches.empty() || graph.given[v] || graph.pinned[v]) continue;
    made_[v] = touches.front().position;
    waiting[touches.front().position] += graph.bytes[v];
    waiting[touches.back().position] -= graph.bytes[v];
  }
  for (int p = 1; p < program.length(); ++p) waiting[p] += waiting[p - 1];
  top_ = static_cast<int>(std::max_element(waiting.begin(), waiting.end()) - waiting.begin());
  for (int v = 0; v < values; ++v) {
    if (!is_up(v)) continue;
    for (const Touch& touch : program.touches(v)) {
      if (touch.position <= top_) last_up_[v] = touch.position;
    }
    saved_[v] = program.touches(v).back().position > top_;
  }
}

// Of each of so many parts with the same bytes to save, the narrowest place.
void Stretches::cut(const Timeline& program, int wanted) {
  const UnitGraph& graph = program.graph();
  std::vector<int64_t> saved(top_ + 2, 0), crossing(top_ + 2, 0);
  for (int v = 0; v < static_cast<int>(made_.size()); ++v) {
    if (!is_up(v)) continue;
    saved[made_[v] + 1] += is_saved(v) ? graph.bytes[v] : 0;
    crossing[made_[v] + 1] += graph.bytes[v];
    crossing[last_up_[v] + 1] -= graph.bytes[v];
  }
  for (int p = 1; p <= top_ + 1; ++p) {
    saved[p] += saved[p - 1];
    crossing[p] += crossing[p - 1];
  }
  cuts_ = {0};
  const auto total = static_cast<double>(std::max<int64_t>(1, saved[top_ + 1]));
  const auto part = [&](int p) {
    return static_cast<int>(static_cast<double>(saved[p]) * wanted / total);
  };
  for (int p = 1, best = 1; p <= top_; ++p) {
    if (part(p) != part(best)) {
      if (part(best) > 0) cuts_.push_back(best);
      best = p;
    }
    if (crossing[p] < crossing[best]) best = p;
  }
  cuts_.push_back(top_ + 1);
}

int Stretches::stretch_of(int position) const {
  return static_cast<int>(std::upper_bound(cuts_.begin(), cuts_.end(), position) - cuts_.begin()) -
         1;
}

// A few small values that are read much later than others of their stretch do not hold it up.
void Stretches::find_down(const Timeline& program) {
  std::vector<std::vector<int>> ending(program.length() + 1);  // By position: values.
  int64_t total = 0;
  for (int v = 0; v < static_cast<int>(made_.size()); ++v) {
    if (!is_up(v) || !is_saved(v)) continue;
    ending[program.touches(v).back().position].push_back(v);
    total += program.graph().bytes[v];
  }
  const int64_t few = total / count() / kFew;
  std::vector<int64_t> bytes(count(), 0);  // By stretch: of what is read at the position or later.
  int64_t above = 0;                       // Of the stretches that were not reached yet.
  int reached = 0;
  down_.assign(count() + 1, top_ + 1);
  down_[0] = program.length();
  for (int p = program.length() - 1; p > top_; --p) {
    for (const int v : ending[p]) {
      const int stretch = stretch_of(made_[v]);
      bytes[stretch] += program.graph().bytes[v];
      above += stretch > reached ? program.graph().bytes[v] : 0;
    }
    for (; above > few; above -= bytes[reached]) down_[++reached] = p + 1;
  }
  hold_stragglers(program);
}

// They are kept as if they could not be made again.
void Stretches::hold_stragglers(const Timeline& program) {
  for (int v = 0; v < static_cast<int>(made_.size()); ++v) {
    if (!is_up(v) || !is_saved(v)) continue;
    if (program.touches(v).back().position >= down_end(stretch_of(made_[v]))) made_[v] = -1;
  }
}

void Stretches::measure_up(const Timeline& program) {
  const UnitGraph& graph = program.graph();
  cost_.assign(count(), 0);
  saved_bytes_.assign(count(), 0);
  for (std::vector<int64_t>& up : up_) up.assign(count(), 0);
  std::vector<int64_t> change[2] = {std::vector<int64_t>(top_ + 2, 0),
                                    std::vector<int64_t>(top_ + 2, 0)};
  for (int v = 0; v < static_cast<int>(made_.size()); ++v) {
    if (!is_up(v)) continue;
    const int stretch = stretch_of(made_[v]);
    saved_bytes_[stretch] += is_saved(v) ? graph.bytes[v] : 0;
    for (const bool saving : {false, true}) {
      const int last = saving && is_saved(v) ? end(stretch) - 1 : last_up_[v];
      change[saving][made_[v]] += graph.bytes[v];
      change[saving][std::min(last, end(stretch) - 1) + 1] -= graph.bytes[v];
    }
  }
  int64_t live[2] = {0, 0};
  for (int p = 0, stretch = 0; p <= top_; ++p) {
    while (end(stretch) <= p) ++stretch;
    const Unit& unit = graph.units[program.sequence()[p]];
    cost_[stretch] += unit.cost_ns;
    for (const bool saving : {false, true}) {
      live[saving] += change[saving][p];
      up_[saving][stretch] = std::max(up_[saving][stretch], live[saving] + unit.extra_bytes);
    }
  }
}

void Stretches::measure_crossing(const Timeline& program) {
  const int width = count() + 1;
  crossing_.assign(static_cast<size_t>(width) * width, 0);
  for (int v = 0; v < static_cast<int>(made_.size()); ++v) {
    if (!is_up(v)) continue;
    const int first = stretch_of(made_[v]);
    for (int to = first + 1; to < count() && cuts_[to] <= last_up_[v]; ++to)
      crossing_[first * width + to] += program.graph().bytes[v];
  }
  for (int from = count() - 1; from >= 0; --from) {
    for (int to = 0; to < count(); ++to)
      crossing_[from * width + to] += crossing_[(from + 1) * width + to];
  }
}

void Stretches::measure_down(const Timeline& program) {
  const UnitGraph& graph = program.graph();
  std::vector<int64_t> up(program.length() + 1, 0);  // By position: its own stretch and lower ones.
  std::vector<int64_t> own(program.length() + 1, 0);
  const auto stretch_down = [&](int stretch) {
    return std::pair(down_begin(stretch), down_end(stretch));
  };
  for (int v = 0; v < static_cast<int>(made_.size()); ++v) {
    if (!is_up(v) || !is_saved(v)) continue;
    const int last = program.touches(v).back().position;
    up[top_ + 1] += graph.bytes[v];
    up[last + 1] -= graph.bytes[v];
    const auto [from, to] = stretch_down(stretch_of(made_[v]));
    if (last < from) continue;
    own[from] += graph.bytes[v];
    own[std::min(last, to - 1) + 1] -= graph.bytes[v];
  }
  down_bytes_.assign(count(), 0);
  beside_.assign(count(), 0);
  int64_t up_live = 0, own_live = 0;
  for (int p = top_ + 1, stretch = count() - 1; p < program.length(); ++p) {
    up_live += up[p];
    own_live += own[p];
    while (stretch > 0 && down_end(stretch) <= p) --stretch;
    const int64_t beside = program.live()[p] - up_live;
    if (p == down_begin(stretch)) beside_[stretch] = beside;
    down_bytes_[stretch] = std::max(down_bytes_[stretch], beside + own_live);
  }
}

}  // namespace snug

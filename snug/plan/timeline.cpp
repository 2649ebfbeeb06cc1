#include "snug/plan/timeline.h"

#include <algorithm>
#include <utility>

namespace snug {

Timeline::Timeline(const UnitGraph& graph, std::vector<int> sequence)
    : graph_(graph), sequence_(std::move(sequence)) {
  collect();
  measure();
}

void Timeline::collect() {
  const size_t values = graph_.bytes.size();
  const int end = length();
  std::vector<char> ran(graph_.units.size(), 0);
  begin_.assign(values + 1, 0);
  first_.reserve(sequence_.size());
  section_.reserve(sequence_.size() + 1);
  int section = 0;
  for (const int u : sequence_) {
    first_.push_back(!std::exchange(ran[u], 1) && !graph_.is_piece(u));
    section_.push_back(section);
    section = graph_.units[u].pure ? section : graph_.units[u].section + 1;
    for (const int v : graph_.units[u].in) ++begin_[v + 1];
    for (const int v : graph_.units[u].out) ++begin_[v + 1];
  }
  section_.push_back(section);
  for (size_t v = 0; v < values; ++v)
    begin_[v + 1] += begin_[v] + graph_.given[v] + graph_.pinned[v];
  touches_.resize(begin_[values]);
  std::vector<int> next(begin_.begin(), begin_.end() - 1);
  for (size_t v = 0; v < values; ++v) {
    if (graph_.given[v]) touches_[next[v]++] = {-1, true};
  }
  for (int p = 0; p < end; ++p) {
    for (const int v : graph_.units[sequence_[p]].in) touches_[next[v]++] = {p, false};
    for (const int v : graph_.units[sequence_[p]].out) touches_[next[v]++] = {p, true};
  }
  for (size_t v = 0; v < values; ++v) {
    if (graph_.pinned[v]) touches_[next[v]++] = {end, false};
  }
}

void Timeline::measure() {
  live_.assign(length() + 2, 0);
  for (size_t v = 0; v < graph_.bytes.size(); ++v) {
    const std::span<const Touch> list = touches(static_cast<int>(v));
    for (size_t i = 0; i < list.size(); ++i) {
      size_t last = i;
      while (last + 1 < list.size() && !list[last + 1].write) ++last;
      live_[std::max(0, list[i].position)] += graph_.bytes[v];
      live_[std::max(0, list[last].position) + 1] -= graph_.bytes[v];
      i = last;
    }
  }
  for (size_t p = 1; p < live_.size(); ++p) live_[p] += live_[p - 1];
  live_.pop_back();
  for (int p = 0; p < length(); ++p) {
    const Unit& unit = graph_.units[sequence_[p]];
    live_[p] += unit.extra_bytes;
    uint64_t used = 0;  // Inputs and outputs that already share, the first 32 of each.
    for (const auto& [out, in] : unit.overwrites) {
      if (in >= 32 || out >= 32 || (used >> in & 1) != 0 || (used >> (32 + out) & 1) != 0) continue;
      const int64_t bytes = graph_.bytes[unit.out[out]];
      if (bytes != graph_.bytes[unit.in[in]] || lives_before(unit.in[in], p + 1)) continue;
      used |= uint64_t{1} << in | uint64_t{1} << (32 + out);
      live_[p] -= bytes;
    }
  }
  peak_position_ = static_cast<int>(std::max_element(live_.begin(), live_.end()) - live_.begin());
  peak_ = live_[peak_position_];
}

int Timeline::touch_at(int value, int position) const {
  const std::span<const Touch> list = touches(value);
  const auto before = [](const Touch& touch, int p) { return touch.position < p; };
  return static_cast<int>(std::lower_bound(list.begin(), list.end(), position, before) -
                          list.begin());
}

bool Timeline::lives_before(int value, int position) const {
  const std::span<const Touch> list = touches(value);
  const int next = touch_at(value, position);
  return next > 0 && next < static_cast<int>(list.size()) && !list[next].write;
}

}  // namespace snug

#include "snug/plan/eviction.h"

#include <algorithm>
#include <cmath>

namespace snug {
namespace {

constexpr int kMaxDepth = 400;
constexpr double kWorstScore = 2;  // Times the best: gaps that are dearer wait for another round.

bool contains(const std::vector<int>& list, int item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

}  // namespace

Eviction::Eviction(const Timeline& timeline, int64_t limit, EvictionSettings settings, double price)
    : timeline_(timeline),
      graph_(timeline.graph()),
      limit_(limit),
      settings_(settings),
      price_(price),
      runs_(graph_.units.size(), 0),
      lives_on_(graph_.bytes.size(), 0),
      held_(timeline.touch_count(), 0),
      emptied_(timeline.touch_count(), 0),
      removed_(timeline.length() + 1, 0),
      inserted_(timeline.length() + 1) {
  above_.push_back(0);
  excess_.push_back(0);
  for (const int64_t live : timeline.live()) {
    above_.push_back(above_.back() + (live > limit ? 1 : 0));
    excess_.push_back(excess_.back() + static_cast<double>(std::max<int64_t>(0, live - limit)));
  }
}

// Bytes times positions above the limit that `bytes` less between the two positions would save.
double Eviction::area(int from, int to, int64_t bytes) const {
  if (to <= from + 1) return 0;
  const double count = above_[to] - above_[from + 1];
  if (count == 0) return 0;
  const double useful =
      std::min(static_cast<double>(bytes), (excess_[to] - excess_[from + 1]) / count);
  return useful * std::pow(count, settings_.span_power);
}

double Eviction::lifetime_price(int value, int from, int to) const {
  if (to <= from + 1) return 0;
  return price_ * static_cast<double>(graph_.bytes[value]) * (above_[to] - above_[from + 1]);
}

bool Eviction::is_there(int value, int at) {
  const int producer = graph_.producer[value];
  if (lives_on_[value]) return true;
  if (producer >= 0 && (runs_[producer] || contains(inserted_[at], producer))) return true;
  if (!timeline_.lives_before(value, at)) return false;
  const int id = timeline_.touch_id(value, timeline_.touch_at(value, at));
  if (emptied_[id]) return false;
  chain_.held.push_back(id);
  return true;
}

// Runs the value's unit before `at`, after making sure of its inputs. False: it cannot, or it costs
// more than `most`.
bool Eviction::make(int value, int at, double most) {
  const int producer = graph_.producer[value];
  if (producer < 0 || depth_ > kMaxDepth) return false;
  const Unit& unit = graph_.units[producer];
  if (!unit.pure || unit.section != timeline_.section(at)) return false;
  chain_.time += unit.cost_ns;
  chain_.cost += unit.cost_ns;
  ++depth_;
  for (const int in : unit.in) {
    if (chain_.cost > most || (!is_there(in, at) && !fetch(in, at, most))) {
      --depth_;
      return false;
    }
  }
  --depth_;
  runs_[producer] = 1;
  chain_.units.push_back(producer);
  return chain_.cost <= most;
}

// If the value is computed again later anyway, that may be dropped for a longer life.
void Eviction::replace_later(int value, int at) {
  const std::span<const Touch> touches = timeline_.touches(value);
  const int next = timeline_.touch_at(value, at);
  if (next == static_cast<int>(touches.size()) || !touches[next].write) return;
  const int later = touches[next].position;
  const double unit_cost = graph_.units[graph_.producer[value]].cost_ns;
  const double price = lifetime_price(value, at, later);
  if (price >= unit_cost || timeline_.is_first(later) || removed_[later]) return;
  chain_.moved.push_back(later);
  chain_.cost += price - unit_cost;
  chain_.time -= unit_cost;
}

// Of three ways to have an input, the cheapest: let its last copy live on, compute it now instead
// of later, compute it once more.
bool Eviction::fetch(int value, int at, double most) {
  const int next = timeline_.touch_at(value, at);
  const int last = next > 0 ? timeline_.touches(value)[next - 1].position : -1;
  const bool can_live_on = next > 0 && !removed_[std::max(0, last)];
  const double longer = can_live_on ? lifetime_price(value, last, at) : HUGE_VAL;
  const double cost = chain_.cost, time = chain_.time;
  const std::array sizes = {chain_.units.size(), chain_.moved.size(), chain_.held.size(),
                            chain_.kept.size()};
  if (longer > 0) {
    // The dearest that this may be: dropping a later execution may give some of it back.
    const double unit_cost =
        graph_.producer[value] < 0 ? 0 : graph_.units[graph_.producer[value]].cost_ns;
    if (make(value, at, std::min(most, chain_.cost + longer) + unit_cost)) {
      replace_later(value, at);
      if (chain_.cost <= std::min(most, cost + longer)) return true;
    }
    shrink(sizes);
    chain_.cost = cost;
    chain_.time = time;
  }
  if (chain_.cost + longer > most) return false;
  chain_.cost += longer;
  chain_.kept.push_back(value);
  lives_on_[value] = 1;
  return true;
}

void Eviction::shrink(const std::array<size_t, 4>& sizes) {
  for (size_t i = sizes[0]; i < chain_.units.size(); ++i) runs_[chain_.units[i]] = 0;
  for (size_t i = sizes[3]; i < chain_.kept.size(); ++i) lives_on_[chain_.kept[i]] = 0;
  chain_.units.resize(sizes[0]);
  chain_.moved.resize(sizes[1]);
  chain_.held.resize(sizes[2]);
  chain_.kept.resize(sizes[3]);
}

std::optional<Eviction::Gap> Eviction::gap_at_peak(int value, double best_score) {
  const int peak = timeline_.peak_position();
  const std::span<const Touch> touches = timeline_.touches(value);
  const int touch = timeline_.touch_at(value, peak);
  if (touch == 0 || touch == static_cast<int>(touches.size())) return {};
  if (touches[touch].write || touches[touch].position == peak) return {};
  const int from = touches[touch - 1].position, to = touches[touch].position;
  const double saved = area(from, to, graph_.bytes[value]);
  if (saved <= 0) return {};
  const bool made = make(value, to, kWorstScore * best_score * saved);
  Gap gap{value, touch, graph_.bytes[value], (chain_.cost + 1e-9) / saved, {}};
  if (made) gap.chain = chain_;
  shrink({});
  chain_.cost = chain_.time = 0;
  return made ? std::optional(std::move(gap)) : std::nullopt;
}

// Nothing that this gap relies on was changed in this round, and nothing that the round relies on
// lives in it.
bool Eviction::is_free(const Gap& gap) const {
  const std::span<const Touch> touches = timeline_.touches(gap.value);
  const int to = touches[gap.touch].position, from = touches[gap.touch - 1].position;
  if (held_[timeline_.touch_id(gap.value, gap.touch)]) return false;
  if (removed_[to] || (from >= 0 && removed_[from])) return false;
  for (const int touch : gap.chain.held) {
    if (emptied_[touch]) return false;
  }
  for (const int position : gap.chain.moved) {
    if (removed_[position] || !inserted_[position].empty()) return false;
  }
  return true;
}

void Eviction::commit(const Gap& gap) {
  const int at = timeline_.touches(gap.value)[gap.touch].position;
  for (const int unit : gap.chain.units) {
    if (!contains(inserted_[at], unit)) inserted_[at].push_back(unit);
  }
  for (const int position : gap.chain.moved) removed_[position] = 1;
  for (const int touch : gap.chain.held) held_[touch] = 1;
  emptied_[timeline_.touch_id(gap.value, gap.touch)] = 1;
}

std::vector<int> Eviction::rewritten() const {
  std::vector<int> sequence;
  for (int p = 0; p <= timeline_.length(); ++p) {
    sequence.insert(sequence.end(), inserted_[p].begin(), inserted_[p].end());
    if (p < timeline_.length() && !removed_[p]) sequence.push_back(timeline_.sequence()[p]);
  }
  return sequence;
}

std::optional<std::vector<int>> Eviction::next() {
  std::vector<Gap> gaps;
  double best = HUGE_VAL;
  for (int v = 0; v < static_cast<int>(graph_.bytes.size()); ++v) {
    if (graph_.bytes[v] == 0) continue;
    std::optional<Gap> gap = gap_at_peak(v, best);
    if (!gap) continue;
    best = std::min(best, gap->score);
    gaps.push_back(std::move(*gap));
  }
  if (gaps.empty()) return {};
  std::stable_sort(gaps.begin(), gaps.end(),
                   [](const Gap& a, const Gap& b) { return a.score < b.score; });
  const int64_t excess = timeline_.peak() - limit_;
  const auto wanted =
      std::max<int64_t>(1, static_cast<int64_t>(settings_.share * static_cast<double>(excess)));
  int64_t freed = 0;
  double paid = 0, saved = 0;
  for (const Gap& gap : gaps) {
    if (freed >= wanted || (freed > 0 && gap.score > kWorstScore * gaps[0].score)) break;
    if (!is_free(gap)) continue;
    commit(gap);
    freed += gap.bytes;
    const std::span<const Touch> touches = timeline_.touches(gap.value);
    const int from = touches[gap.touch - 1].position, to = touches[gap.touch].position;
    paid += gap.chain.time;
    saved += static_cast<double>(gap.bytes) * std::max(1, above_[to] - above_[from + 1]);
  }
  if (freed == 0) return {};
  price_ = std::max(price_, paid / saved);
  return rewritten();
}

}  // namespace snug

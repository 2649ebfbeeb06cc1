#include "snug/plan/eviction.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace snug {
namespace {

constexpr int kMaxDepth = 400;
constexpr double kWorstScore = 2;  // Times the best: gaps that are dearer wait for another round.

constexpr double kLeastNet =
    0.1;  // Of what a gap saves, this much must remain after what lives longer for it.
constexpr int kClasses = 24;

// Values of up to 64, 256, 1024 ... bytes.
int size_class(int64_t bytes) {
  const int bits =
      std::bit_width(static_cast<uint64_t>((std::max<int64_t>(1, bytes) - 1) / kAlignment));
  return std::min(kClasses - 1, (bits + 1) / 2);
}

// Of a count of positions. The powers that the settings have need no logarithm.
double power(double count, double exponent) {
  if (exponent == 1) return count;
  if (exponent == 0) return 1;
  const double root = std::sqrt(count);
  if (exponent == 0.5) return root;
  return exponent == 0.75 ? root * std::sqrt(root) : std::pow(count, exponent);
}

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
  const std::vector<int64_t>& live = timeline.live();
  above_.resize(live.size() + 1, 0);
  excess_.resize(live.size() + 1, 0);
  for (size_t p = 0; p < live.size(); ++p) {
    above_[p + 1] = above_[p] + (live[p] > limit ? 1 : 0);
    excess_[p + 1] = excess_[p] + static_cast<double>(std::max<int64_t>(0, live[p] - limit));
  }
  full_.resize(kClasses);
}

// For values of one class. Many rounds ask for a few of the classes only.
const std::vector<int>& Eviction::full(int size_class) const {
  std::vector<int>& full = full_[size_class];
  if (!full.empty()) return full;
  const std::vector<int64_t>& live = timeline_.live();
  const int64_t most = limit_ - (kAlignment << (2 * size_class));
  full.resize(live.size() + 1, 0);
  for (size_t p = 0; p < live.size(); ++p) full[p + 1] = full[p] + (live[p] > most ? 1 : 0);
  return full;
}

// Bytes times positions above the limit that `bytes` less between the two positions would save.
double Eviction::area(int from, int to, int64_t bytes) const {
  if (to <= from + 1) return 0;
  const double count = above_[to] - above_[from + 1];
  if (count == 0) return 0;
  const double useful =
      std::min(static_cast<double>(bytes), (excess_[to] - excess_[from + 1]) / count);
  return useful * power(count, settings_.span_power);
}

double Eviction::lifetime_price(int value, int from, int to) const {
  if (to <= from + 1) return 0;
  const std::vector<int>& full = this->full(size_class(graph_.bytes[value]));
  return price_ * static_cast<double>(graph_.bytes[value]) * (full[to] - full[from + 1]);
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
  ++work_;
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
  chain_.area += area(at, later, graph_.bytes[value]);
  chain_.cost += price - unit_cost;
  chain_.time -= unit_cost;
}

// Of three ways to have an input, the cheapest: let its last copy live on, compute it now instead
// of later, compute it once more.
bool Eviction::fetch(int value, int at, double most) {
  const int next = timeline_.touch_at(value, at);
  const int last = next > 0 ? timeline_.touches(value)[next - 1].position : -1;
  const double area_longer = next > 0 ? area(last, at, graph_.bytes[value]) : 0;
  const bool can_live_on =
      next > 0 && !removed_[std::max(0, last)] && (may_live_on_ || area_longer == 0);
  const double longer = can_live_on ? lifetime_price(value, last, at) : HUGE_VAL;
  const double cost = chain_.cost, time = chain_.time, area_before = chain_.area;
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
    chain_.area = area_before;
  }
  if (chain_.cost + longer > most) return false;
  chain_.cost += longer;
  chain_.area += area_longer;
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

std::optional<Eviction::Gap> Eviction::weigh_both(const GapEnd& end, double best_score) {
  may_live_on_ = true;
  std::optional<Gap> gap = weigh(end, best_score);
  if (gap && !lengthened_) return gap;
  may_live_on_ = false;
  std::optional<Gap> other = weigh(end, gap ? std::min(best_score, gap->score) : best_score);
  return other && (!gap || other->score < gap->score) ? other : gap;
}

std::optional<Eviction::Gap> Eviction::weigh(const GapEnd& end, double best_score) {
  const auto [value, touch] = end;
  const std::span<const Touch> touches = timeline_.touches(value);
  const int from = touches[touch - 1].position, to = touches[touch].position;
  const double saved = area(from, to, graph_.bytes[value]);
  if (saved <= 0) return {};
  const bool made = make(value, to, kWorstScore * best_score * saved);
  const double net = saved - chain_.area;
  const bool worth = made && net > kLeastNet * saved;
  const Gap gap{value,
                touch,
                graph_.bytes[value],
                (chain_.cost + 1e-9) / net,
                chain_.time,
                pool_.size(),
                chain_.units.size(),
                chain_.moved.size(),
                chain_.held.size()};
  for (const std::vector<int>* list : {&chain_.units, &chain_.moved, &chain_.held}) {
    if (worth) pool_.insert(pool_.end(), list->begin(), list->end());
  }
  lengthened_ = chain_.area != 0;
  shrink({});
  chain_.cost = chain_.time = chain_.area = 0;
  return worth ? std::optional(gap) : std::nullopt;
}

// Nothing that this gap relies on was changed in this round, and nothing that the round relies on
// lives in it.
bool Eviction::is_free(const Gap& gap) const {
  const std::span<const Touch> touches = timeline_.touches(gap.value);
  const int to = touches[gap.touch].position, from = touches[gap.touch - 1].position;
  if (held_[timeline_.touch_id(gap.value, gap.touch)]) return false;
  if (removed_[to] || (from >= 0 && removed_[from])) return false;
  for (const int touch : held_of(gap)) {
    if (emptied_[touch]) return false;
  }
  for (const int position : moved_of(gap)) {
    if (removed_[position] || !inserted_[position].empty()) return false;
  }
  return true;
}

void Eviction::commit(const Gap& gap) {
  const int at = timeline_.touches(gap.value)[gap.touch].position;
  for (const int unit : units_of(gap)) {
    if (!contains(inserted_[at], unit)) inserted_[at].push_back(unit);
  }
  for (const int position : moved_of(gap)) removed_[position] = 1;
  for (const int touch : held_of(gap)) held_[touch] = 1;
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

// The fullest position of each stretch of the sequence that is above the limit, the highest first.
std::vector<int> Eviction::peaks() const {
  const std::vector<int64_t>& live = timeline_.live();
  const int stretch = std::max<int>(1, static_cast<int>(live.size()) / settings_.peaks);
  std::vector<int> peaks;
  for (int from = 0; from < static_cast<int>(live.size()); from += stretch) {
    const auto begin = live.begin() + from;
    const auto top =
        std::max_element(begin, begin + std::min<int64_t>(stretch, live.end() - begin));
    if (*top > limit_) peaks.push_back(static_cast<int>(top - live.begin()));
  }
  std::stable_sort(peaks.begin(), peaks.end(), [&](int a, int b) { return live[a] > live[b]; });
  return peaks;
}

// For each peak the gaps around it, in the order of the values.
std::vector<std::vector<Eviction::GapEnd>> Eviction::ends_at(const std::vector<int>& peaks) const {
  std::vector<std::pair<int, int>> sorted;  // Position, number.
  for (size_t i = 0; i < peaks.size(); ++i) sorted.push_back({peaks[i], static_cast<int>(i)});
  std::sort(sorted.begin(), sorted.end());
  std::vector<std::vector<GapEnd>> ends(peaks.size());
  for (int v = 0; v < static_cast<int>(graph_.bytes.size()); ++v) {
    const std::span<const Touch> touches = timeline_.touches(v);
    for (int t = 1; t < static_cast<int>(touches.size()) && graph_.bytes[v] > 0; ++t) {
      if (touches[t].write || touches[t].position <= touches[t - 1].position + 1) continue;
      auto peak = std::upper_bound(sorted.begin(), sorted.end(),
                                   std::pair(touches[t - 1].position, INT32_MAX));
      for (; peak != sorted.end() && peak->first < touches[t].position; ++peak)
        ends[peak->second].push_back({v, t});
    }
  }
  return ends;
}

// The best first.
std::vector<Eviction::Gap> Eviction::weighed(const std::vector<GapEnd>& ends) {
  std::vector<Gap> gaps;
  pool_.clear();
  double best = HUGE_VAL;
  for (const GapEnd& end : ends) {
    std::optional<Gap> gap = weigh_both(end, best);
    if (!gap) continue;
    best = std::min(best, gap->score);
    gaps.push_back(*gap);
  }
  std::stable_sort(gaps.begin(), gaps.end(),
                   [](const Gap& a, const Gap& b) { return a.score < b.score; });
  return gaps;
}

void Eviction::empty_some(int peak, const std::vector<GapEnd>& ends) {
  const std::vector<Gap> gaps = weighed(ends);
  const int64_t excess = timeline_.live()[peak] - limit_;
  const auto wanted =
      std::max<int64_t>(1, static_cast<int64_t>(settings_.share * static_cast<double>(excess)));
  int64_t freed = 0;
  for (const Gap& gap : gaps) {
    if (freed >= wanted || (freed > 0 && gap.score > kWorstScore * gaps[0].score)) break;
    if (!is_free(gap)) continue;
    commit(gap);
    freed += gap.bytes;
    const std::span<const Touch> touches = timeline_.touches(gap.value);
    const int from = touches[gap.touch - 1].position, to = touches[gap.touch].position;
    relieved_.push_back({from, to});
    paid_ += gap.time;
    saved_ += static_cast<double>(gap.bytes) * std::max(1, above_[to] - above_[from + 1]);
  }
}

std::optional<std::vector<int>> Eviction::next() {
  const std::vector<int> highest = peaks();
  const std::vector<std::vector<GapEnd>> ends = ends_at(highest);
  for (size_t i = 0; i < highest.size(); ++i) {
    const int peak = highest[i];
    const auto covers = [&](const std::pair<int, int>& stretch) {
      return stretch.first < peak && peak < stretch.second;
    };
    if (std::none_of(relieved_.begin(), relieved_.end(), covers)) empty_some(peak, ends[i]);
    if (relieved_.empty()) return {};
  }
  price_ = std::max(price_, paid_ / saved_);
  return rewritten();
}

}  // namespace snug

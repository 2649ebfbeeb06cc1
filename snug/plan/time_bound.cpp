// What must be made again, seen from moments in the step: see bounds.h.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "snug/plan/bounds.h"
#include "snug/plan/branching.h"
#include "snug/plan/instant.h"

namespace snug {
namespace {

constexpr size_t kCandidates = 24;         // Units that are looked at first.
constexpr size_t kMostLooks = 40;          // Of each kind,
constexpr size_t kLooksWork = 60'000;      // as long as they have so many units together;
constexpr size_t kFewestLooks = 3;         // but at least so many at single moments.
constexpr size_t kMostPairs = 16;          // Of choices that are tried both ways.
constexpr double kMostInRow = 16;          // Moments between which there are windows.
constexpr size_t kWidestWork = 4'000'000;  // Units passed over in search of the widest moments,
constexpr size_t kWidest = 8;              // so many of which are looked at.

int apart(int length) { return length / (4 * static_cast<int>(kCandidates)); }

// The fullest positions of the program, spread out.
std::vector<int> fullest(const Timeline& timeline, std::vector<int> order) {
  std::stable_sort(order.begin(), order.end(),
                   [&](int a, int b) { return timeline.live()[a] > timeline.live()[b]; });
  std::vector<int> chosen;
  for (const int p : order) {
    const auto near = [&](int other) { return std::abs(p - other) < apart(timeline.length()); };
    if (std::none_of(chosen.begin(), chosen.end(), near)) chosen.push_back(p);
    if (chosen.size() == kCandidates) break;
  }
  return chosen;
}

// Those that need the most for themselves, in order.
std::vector<int> heaviest(const UnitGraph& graph, std::vector<int> units, size_t count) {
  std::ranges::stable_sort(units, std::greater<>(),
                           [&](int u) { return working_bytes(graph, graph.units[u]); });
  if (units.size() > count) units.resize(count);
  std::ranges::sort(units);
  return units;
}

class TimeBound {
 public:
  TimeBound(const UnitGraph& graph, int64_t limit)
      : graph_(graph),
        limit_(limit),
        program_(graph, graph.program()),
        looks_(std::min(kMostLooks, kLooksWork / std::max<size_t>(1, graph.units.size()))) {
    for (int p = 0; p < program_.length(); ++p) {
      if (program_.live()[p] > limit) full_.push_back(p);
    }
  }

  double most() {
    look_at_fullest();
    if (looks_ <= kFewestLooks) return most_;
    look_at_heaviest();
    look_at_widest();
    climb();
    std::ranges::stable_sort(seen_);
    if (best_ >= 0) branch();
    look_at_first_result();
    return std::max(most_, windows());
  }

 private:
  void look_at_fullest() {
    std::vector<std::pair<int64_t, Moment>> moments;
    for (const int p : fullest(program_, full_)) {
      Moment moment = moment_of(graph_, p);
      const int64_t bytes = crossing_bytes(graph_, moment) + working_bytes(graph_, graph_.units[p]);
      if (bytes > limit_) moments.push_back({bytes, std::move(moment)});
    }
    std::stable_sort(moments.begin(), moments.end(),
                     [](const auto& a, const auto& b) { return a.first > b.first; });
    if (moments.size() > std::max(kFewestLooks, looks_))
      moments.resize(std::max(kFewestLooks, looks_));
    for (const auto& [bytes, moment] : moments) look_at(moment);
  }

  void look_at_heaviest() {
    for (const int u : heaviest(graph_, full_, looks_)) look_at(moment_of(graph_, u));
  }

  // Where passes meet, all that they have made is needed, in every order: that may be one unit.
  void look_at_widest() {
    const size_t size = graph_.program_size;
    const size_t step = std::max<size_t>(1, size * size / kWidestWork);
    std::vector<std::pair<int64_t, int>> widest;  // Less than no bytes, unit.
    for (size_t u = 0; u < size; u += step) {
      const int unit = static_cast<int>(u);
      const int64_t bytes = certain_bytes(moment_of(graph_, unit));
      if (bytes > 0) widest.push_back({-bytes, unit});
    }
    std::ranges::stable_sort(widest);
    if (widest.size() > std::min(kWidest, looks_)) widest.resize(std::min(kWidest, looks_));
    for (const auto& [bytes, unit] : widest) look_at(moment_of(graph_, unit));
  }

  // Of what has certainly been made and is needed later.
  int64_t certain_bytes(const Moment& moment) const {
    int64_t bytes = 0;
    for (size_t v = 0; v < graph_.bytes.size(); ++v) {
      const int maker = graph_.producer[v];
      if (moment.needed_after[v] && maker >= 0 && !moment.may_wait[maker]) bytes += graph_.bytes[v];
    }
    return bytes;
  }

  void look_at(const Moment& moment) {
    const double bound = Instant(graph_, moment, limit_).bound();
    seen_.push_back({-bound, moment.unit});
    if (bound <= most_) return;
    most_ = bound;
    best_ = moment.unit;
  }

  // The moments near the best may be better still.
  void climb() {
    size_t left = looks_;
    for (int step = apart(graph_.program_size); best_ >= 0 && step > 0 && left > 0;) {
      const int from = best_;
      for (const int p : {from - step, from + step}) {
        if (p < 0 || p >= graph_.program_size || left == 0) continue;
        --left;
        look_at(moment_of(graph_, p));
      }
      if (best_ == from) step /= 2;
    }
  }

  void branch() {
    const int pairs = static_cast<int>(std::min(kMostPairs, looks_));
    most_ = std::max(most_, branched_bound(graph_, moment_of(graph_, best_), limit_, pairs));
  }

  // One of the units that make the heaviest results is the first of them; which, is not known.
  void look_at_first_result() {
    std::vector<int> makers;
    for (int u = 0; u < graph_.program_size; ++u) {
      if (std::ranges::any_of(graph_.units[u].out, [&](int v) { return graph_.pinned[v]; }))
        makers.push_back(u);
    }
    makers = heaviest(graph_, makers, looks_);
    double least = HUGE_VAL;
    for (const int u : makers) {
      const std::vector<char> earlier = units_before(graph_, u);
      if (std::ranges::any_of(makers, [&](int other) { return earlier[other]; })) continue;
      std::vector<int> waiting = makers;
      std::erase(waiting, u);
      least = std::min(least, Instant(graph_, moment_of(graph_, u, waiting), limit_).bound());
      if (least <= most_) return;
    }
    if (least < HUGE_VAL) most_ = least;
  }

  // From one moment to the next, something may have to be made again for what runs between them;
  // that is paid for in each of such windows. The best row of them, from its end.
  double windows() {
    const double looks = static_cast<double>(kLooksWork) / graph_.program_size;
    const auto most = static_cast<size_t>(std::min(kMostInRow, std::sqrt(2 * looks)));
    std::vector<int> row = heaviest(graph_, full_, most / 2);
    for (const auto& [bound, unit] : seen_) {
      if (row.size() < most && std::ranges::find(row, unit) == row.end()) row.push_back(unit);
    }
    std::ranges::sort(row);
    std::vector<double> best(row.size(), 0);  // From each of them on.
    for (size_t i = row.size(); i-- > 0;) {
      best[i] = until(row[i], -1);
      for (size_t j = i + 1; j < row.size(); ++j) {
        if (units_before(graph_, row[j])[row[i]])
          best[i] = std::max(best[i], until(row[i], row[j]) + best[j]);
      }
    }
    return row.empty() ? 0 : *std::ranges::max_element(best);
  }

  // -1: the end.
  double until(int unit, int last) const {
    const Moment moment = last < 0 ? moment_of(graph_, unit) : moment_until(graph_, unit, last);
    return Instant(graph_, moment, limit_).bound();
  }

  const UnitGraph& graph_;
  int64_t limit_;
  Timeline program_;
  size_t looks_;
  std::vector<int> full_;                     // Positions above the limit.
  std::vector<std::pair<double, int>> seen_;  // Less than no bound, unit.
  double most_ = 0;
  int best_ = -1;  // The unit of its moment.
};

}  // namespace

double least_cost_ns(const UnitGraph& graph, int64_t limit) {
  return graph.cost_ns(graph.program()) + TimeBound(graph, limit).most();
}

}  // namespace snug

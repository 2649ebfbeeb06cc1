#include "snug/plan/nested.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "snug/plan/make_first.h"
#include "snug/plan/stretches.h"

namespace snug {
namespace {

constexpr int kLevels = 96;  // Of bytes that are held.
constexpr int kKeep = -1;    // Instead of a place to divide at.

// rest: the row runs again. first: it has just run for the first time, so the way up costs nothing.
enum Mode { kRest, kFirst };

// For every row of stretches and every amount of bytes that are held elsewhere: what is made again
// so that the way down can pass the row, at the least cost.
class Choices {
 public:
  Choices(const Stretches& stretches, int64_t limit)
      : stretches_(stretches),
        limit_(limit),
        count_(stretches.count()),
        cost_((rows_before(count_) + count_) * kLevels, HUGE_VAL),
        division_(cost_.size(), kKeep) {
    for (int from = count_ - 1; from >= 0; --from) {
      for (int to = from + 1; to <= count_; ++to) {
        for (int level = 0; level < kLevels; ++level) {
          choose(kRest, from, to, level);
          if (to == count_) choose(kFirst, from, to, level);
        }
      }
    }
  }

  bool exists() const { return cost(kFirst, 0, count_, 0) < HUGE_VAL; }
  int division(Mode mode, int from, int to, int level) const {
    return division_[index(mode, from, to, level)];
  }
  // With so many bytes more.
  int raised(int level, int64_t bytes) const {
    const double share =
        static_cast<double>(bytes) / static_cast<double>(std::max<int64_t>(1, limit_));
    return level + static_cast<int>(std::ceil(share * kLevels));
  }

 private:
  // How many rows begin before this stretch.
  size_t rows_before(int from) const {
    return static_cast<size_t>(from) * static_cast<size_t>(2 * count_ - from + 1) / 2;
  }
  // A row that runs for the first time ends at the top: such rows stand behind all others.
  size_t index(Mode mode, int from, int to, int level) const {
    const size_t row =
        mode == kRest ? rows_before(from) + (to - from - 1) : rows_before(count_) + from;
    return row * kLevels + level;
  }
  double cost(Mode mode, int from, int to, int level) const {
    if (level >= kLevels) return HUGE_VAL;
    return from == to ? 0 : cost_[index(mode, from, to, level)];
  }
  bool fits(int level, int64_t bytes) const {
    return static_cast<double>(level) / kLevels * static_cast<double>(limit_) +
               static_cast<double>(bytes) <=
           static_cast<double>(limit_);
  }

  void choose(Mode mode, int from, int to, int level) {
    double best = HUGE_VAL;
    int division = kKeep;
    const int64_t beside = stretches_.bytes_beside(to - 1);
    if (fits(level, stretches_.bytes_down(from)) &&
        (mode == kFirst || fits(level, beside + stretches_.bytes_up(from, /*saving=*/true)))) {
      const int64_t kept = stretches_.saved_bytes(from);
      best = (mode == kFirst ? 0 : stretches_.cost_ns(from)) +
             (to - from == 1 ? 0 : cost(mode, from + 1, to, raised(level, kept)));
    }
    double way = 0;
    for (int at = from + 1; at < to; ++at) {
      way += mode == kFirst ? 0 : stretches_.cost_ns(at - 1);
      const int64_t before = at - 1 == from ? 0 : stretches_.crossing_bytes(from, at - 1);
      const int64_t passing = before + stretches_.bytes_up(at - 1, /*saving=*/false);
      if (mode == kRest && !fits(level, beside + passing)) break;
      const double ns = way +
                        cost(mode, at, to, raised(level, stretches_.crossing_bytes(from, at))) +
                        cost(kRest, from, at, level);
      if (ns >= best) continue;
      best = ns;
      division = at;
    }
    cost_[index(mode, from, to, level)] = best;
    division_[index(mode, from, to, level)] = static_cast<int16_t>(division);
  }

  const Stretches& stretches_;
  int64_t limit_;
  int count_;
  std::vector<double> cost_;       // By row and level.
  std::vector<int16_t> division_;  // The same.
};

// Carries the choices out.
class Nest {
 public:
  Nest(const Timeline& program, const Stretches& stretches, const Choices& choices)
      : program_(program),
        graph_(program.graph()),
        stretches_(stretches),
        choices_(choices),
        next_(stretches.top() + 1),
        there_(graph_.bytes.size(), 1) {
    for (int p = 0; p <= stretches.top(); ++p) sequence_.push_back(program.sequence()[p]);
    pass(kFirst, 0, stretches.count(), 0);
  }

  std::vector<int> take() { return std::move(sequence_); }

 private:
  void pass(Mode mode, int from, int to, int level) {
    if (from == to) return;
    const int at = choices_.division(mode, from, to, level);
    if (at == kKeep) {
      if (mode == kRest) make(from, from + 1, /*saving=*/true);
      pass(mode, from + 1, to, choices_.raised(level, stretches_.saved_bytes(from)));
      go_down(from);
      return;
    }
    if (mode == kRest) make(from, at, /*saving=*/false);
    if (mode == kFirst) forget(from, at, /*but_crossing=*/true);
    pass(mode, at, to, choices_.raised(level, stretches_.crossing_bytes(from, at)));
    forget(from, at, /*but_crossing=*/false);
    pass(kRest, from, at, level);
  }

  // What crosses the end of the row on the way up; with `saving` what is read on the way down too.
  void make(int from, int to, bool saving) {
    const int end = stretches_.end(to - 1);
    for_each_made(from, to, [&](int v) {
      if ((saving && stretches_.is_saved(v)) || stretches_.last_up(v) >= end) need(v);
    });
    if (!saving) forget(from, to, /*but_crossing=*/true);
  }

  void forget(int from, int to, bool but_crossing) {
    const int end = stretches_.end(to - 1);
    for_each_made(from, to, [&](int v) {
      if (!but_crossing || stretches_.last_up(v) < end) there_[v] = 0;
    });
  }

  template <typename Each>
  void for_each_made(int from, int to, const Each& each) {
    for (int p = stretches_.begin(from); p < stretches_.end(to - 1); ++p) {
      for (const int v : graph_.units[program_.sequence()[p]].out) {
        if (stretches_.is_up(v)) each(v);
      }
    }
  }

  void go_down(int stretch) {
    for (int p = stretches_.down_begin(stretch); p < stretches_.down_end(stretch); ++p) {
      const int u = program_.sequence()[p];
      for (const int v : graph_.units[u].in) need(v);
      sequence_.push_back(u);
      next_ = p + 1;
    }
    forget(stretch, stretch + 1, /*but_crossing=*/false);
  }

  // Where the unit may not run again here, the copy before simply lives on.
  void need(int value) {
    const auto wants = [&](int v) {
      if (std::exchange(there_[v], 1) != 0) return false;
      const Unit& unit = graph_.units[graph_.producer[v]];
      return unit.pure && unit.section == program_.section(next_);
    };
    make_first(graph_, value, wants, [&](int u) {
      sequence_.push_back(u);
      for (const int v : graph_.units[u].out) there_[v] = 1;
    });
  }

  const Timeline& program_;
  const UnitGraph& graph_;
  const Stretches& stretches_;
  const Choices& choices_;
  int next_;                 // Position of the program that runs next.
  std::vector<char> there_;  // By value.
  std::vector<int> sequence_;
};

}  // namespace

std::vector<int> nested_sequence(const Timeline& program, int64_t limit, int stretches) {
  if (program.length() < 2) return {};
  const Stretches step(program, stretches);
  const Choices choices(step, limit);
  if (!choices.exists()) return {};
  return Nest(program, step, choices).take();
}

}  // namespace snug

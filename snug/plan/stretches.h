// A training step cut into stretches.
#pragma once

#include <cstdint>
#include <vector>

#include "snug/plan/timeline.h"

namespace snug {

// Positions up to the one where most bytes wait for a later reader are the way up, the others the
// way down. The way up is cut into stretches; a position of the way down belongs to the highest
// stretch that it or a later one reads from, so it passes them from the last to the first.
class Stretches {
 public:
  Stretches(const Timeline& program, int wanted);

  int count() const { return static_cast<int>(cuts_.size()) - 1; }
  int top() const { return top_; }  // The last position of the way up.
  // Positions of the way up, and of the way down: from, to (not included).
  int begin(int stretch) const { return cuts_[stretch]; }
  int end(int stretch) const { return cuts_[stretch + 1]; }
  int down_begin(int stretch) const { return down_[stretch + 1]; }
  int down_end(int stretch) const { return down_[stretch]; }

  // Made on the way up, to be dropped and made again.
  bool is_up(int value) const { return made_[value] >= 0 && made_[value] <= top_; }
  int made(int value) const { return made_[value]; }
  // Its last reader on the way up, or where it was made.
  int last_up(int value) const { return last_up_[value]; }
  bool is_saved(int value) const { return saved_[value]; }  // Read on the way down.

  double cost_ns(int stretch) const { return cost_[stretch]; }
  // Of what is read on the way down.
  int64_t saved_bytes(int stretch) const { return saved_bytes_[stretch]; }
  // Of what is made in stretches from `from` and read on the way up at or behind the beginning of
  // `to`.
  int64_t crossing_bytes(int from, int to) const { return crossing_[from * (count() + 1) + to]; }
  // The most that live while the stretch runs: of what it makes, with all or without what is read
  // on the way down only.
  int64_t bytes_up(int stretch, bool saving) const { return up_[saving][stretch]; }
  // The same on the way down, with all that is no part of the way up.
  int64_t bytes_down(int stretch) const { return down_bytes_[stretch]; }
  // What is no part of the way up when its way down begins.
  int64_t bytes_beside(int stretch) const { return beside_[stretch]; }

 private:
  void find_top(const Timeline& program);
  void cut(const Timeline& program, int wanted);
  void find_down(const Timeline& program);
  void hold_stragglers(const Timeline& program);
  void measure_up(const Timeline& program);
  void measure_crossing(const Timeline& program);
  void measure_down(const Timeline& program);
  int stretch_of(int position) const;

  int top_ = 0;
  std::vector<int> made_, last_up_;
  std::vector<char> saved_;
  std::vector<int> cuts_, down_;  // By stretch, and one more.
  std::vector<double> cost_;
  std::vector<int64_t> saved_bytes_, crossing_, up_[2], down_bytes_, beside_;
};

}  // namespace snug

// What lives when, for a sequence of units some of which run more than once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "snug/plan/unit_graph.h"

namespace snug {

// A unit at a position writes or reads a value. A copy of the value lives from a write to the last
// read before the next write.
struct Touch {
  int position = 0;  // -1: given from the start; the length of the sequence: needed at the end.
  bool write = false;
};

class Timeline {
 public:
  Timeline(const UnitGraph& graph, std::vector<int> sequence);

  int length() const { return static_cast<int>(sequence_.size()); }
  const std::vector<int>& sequence() const { return sequence_; }
  const UnitGraph& graph() const { return graph_; }

  // The first execution of its unit, as opposed to one that computes it again.
  bool is_first(int position) const { return first_[position]; }
  int section(int position) const { return section_[position]; }

  std::span<const Touch> touches(int value) const {
    return {touches_.data() + begin_[value], touches_.data() + begin_[value + 1]};
  }
  // A number for each touch of each value.
  int touch_id(int value, int touch) const { return begin_[value] + touch; }
  int touch_count() const { return static_cast<int>(touches_.size()); }
  // The number of the value's first touch at or after the position.
  int touch_at(int value, int position) const;
  // Lives across the border just before the position.
  bool lives_before(int value, int position) const;

  // Live bytes by position; the last one is the end.
  const std::vector<int64_t>& live() const { return live_; }
  int64_t peak() const { return peak_; }
  int peak_position() const { return peak_position_; }

 private:
  void collect();
  void measure();

  const UnitGraph& graph_;
  std::vector<int> sequence_, section_;
  std::vector<char> first_;
  std::vector<Touch> touches_;  // By value, in order.
  std::vector<int> begin_;      // By value.
  std::vector<int64_t> live_;
  int64_t peak_ = 0;
  int peak_position_ = 0;
};

}  // namespace snug

// An order of units that is being made.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace snug {

// A list that knows which of two comes first: by labels, which are given anew where two are too
// near.
class OrderList {
 public:
  explicit OrderList(size_t units)
      : next_(units + 1, -1), before_(units + 1, -1), label_(units + 1, 0), end_(units) {
    first_ = end();
  }

  // A place behind all units.
  int end() const { return static_cast<int>(end_); }
  int first() const { return first_; }
  int next(int place) const { return next_[place]; }
  bool is_before(int a, int b) const { return label_[a] < label_[b]; }

  void insert_before(int unit, int place) {
    const int before = before_[place];
    if (place == end() && before >= 0) label_[place] = label_[before] + 2 * kApart;
    if (before >= 0 && label_[place] - label_[before] < 2) relabel();
    label_[unit] = before >= 0 ? label_[before] + (label_[place] - label_[before]) / 2
                               : label_[place] - kApart;
    next_[unit] = place;
    before_[unit] = before;
    before_[place] = unit;
    (before >= 0 ? next_[before] : first_) = unit;
  }

  std::vector<int> order() const {
    std::vector<int> order;
    for (int u = first_; u != end(); u = next_[u]) order.push_back(u);
    return order;
  }

 private:
  void relabel() {
    int64_t label = 0;
    for (int u = first_; u != end(); u = next_[u]) label_[u] = label += kApart;
    label_[end_] = label + kApart;
  }

  static constexpr int64_t kApart = int64_t{1} << 32;

  std::vector<int> next_, before_;  // By unit, and one for the end.
  std::vector<int64_t> label_;
  size_t end_;
  int first_ = 0;
};

}  // namespace snug

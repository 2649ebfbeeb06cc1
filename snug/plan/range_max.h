// Numbers by position: add to a stretch of them, ask for the largest of a stretch, both in
// logarithmic time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace snug {

class RangeMax {
 public:
  explicit RangeMax(const std::vector<int64_t>& numbers) {
    while (size_ < static_cast<int>(numbers.size())) size_ *= 2;
    most_.assign(2 * size_, INT64_MIN / 2);
    added_.assign(2 * size_, 0);
    std::copy(numbers.begin(), numbers.end(), most_.begin() + size_);
    for (int i = size_ - 1; i > 0; --i) most_[i] = std::max(most_[2 * i], most_[2 * i + 1]);
  }

  // Positions from `first` up to, but not, `last`.
  void add(int first, int last, int64_t number) { add(1, 0, size_, first, last, number); }
  int64_t most(int first, int last) const { return most(1, 0, size_, first, last); }

 private:
  void add(int node, int begin, int end, int first, int last, int64_t number) {
    if (last <= begin || end <= first) return;
    if (first <= begin && end <= last) {
      most_[node] += number;
      added_[node] += number;
      return;
    }
    const int middle = (begin + end) / 2;
    add(2 * node, begin, middle, first, last, number);
    add(2 * node + 1, middle, end, first, last, number);
    most_[node] = std::max(most_[2 * node], most_[2 * node + 1]) + added_[node];
  }

  int64_t most(int node, int begin, int end, int first, int last) const {
    if (last <= begin || end <= first) return INT64_MIN / 2;
    if (first <= begin && end <= last) return most_[node];
    const int middle = (begin + end) / 2;
    return std::max(most(2 * node, begin, middle, first, last),
                    most(2 * node + 1, middle, end, first, last)) +
           added_[node];
  }

  int size_ = 1;
  // By node of a binary tree: the largest number below it, and what was added to all below it.
  std::vector<int64_t> most_, added_;
};

}  // namespace snug

// Where the middle of a stream of numbers lies, in fixed memory.
#pragma once

#include <cstdint>
#include <vector>

namespace snug {

// Keeps some of the numbers, each standing for 1, 2, 4, ... of them: when a level is full, every
// second of its numbers, sorted, goes to the next. Up to 2048 numbers it is exact; of more, the
// median is a number whose rank is off by less than 1 % of all. What it says depends on the order
// of the numbers and of the merges alone.
class QuantileSketch {
 public:
  void add(double number);
  void merge(const QuantileSketch& other);

  int64_t count() const { return count_; }
  // The lower of the two middle numbers where their number is even; 0 without any.
  double median() const { return quantile(0.5); }
  // The least number that so large a share of all numbers do not exceed; 0 without any.
  double quantile(double share) const;

 private:
  static constexpr size_t kLevelSize = 2048;
  struct Level {
    std::vector<double> numbers;
    bool takes_second = false;  // Next time: the even ones and the odd ones in turn.
  };
  void halve_full_levels();

  std::vector<Level> levels_;
  int64_t count_ = 0;
};

}  // namespace snug

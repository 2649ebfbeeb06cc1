// Quantiles of a column of any length in a few kilobytes.
#pragma once

#include <cstdint>
#include <vector>

namespace snug {

// Keeps numbers on levels: where one is full, every second number of it, sorted, goes to the next
// and counts twice. Exact up to kLevel numbers; beyond that a quantile is off by less than a
// hundredth of the numbers. The same numbers in the same order and pieces give the same result.
class QuantileSketch {
 public:
  static constexpr size_t kLevel = 1024;

  void add(double value);
  // As if the other's numbers had followed.
  void merge(const QuantileSketch& other);
  int64_t count() const { return count_; }
  // The number below which this share of all lie, the middle of the two around where there are two;
  // 0 without numbers.
  double quantile(double share) const;

 private:
  void compact(size_t level);

  std::vector<std::vector<double>> levels_ = {{}};
  std::vector<bool> odd_ = {false};  // Which of two numbers stays, by turns.
  int64_t count_ = 0;
};

}  // namespace snug

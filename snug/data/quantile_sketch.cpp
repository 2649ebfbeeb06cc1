#include "snug/data/quantile_sketch.h"

#include <algorithm>
#include <utility>

namespace snug {

void QuantileSketch::add(double number) {
  if (levels_.empty()) levels_.emplace_back();
  levels_[0].numbers.push_back(number);
  ++count_;
  if (levels_[0].numbers.size() > kLevelSize) halve_full_levels();
}

void QuantileSketch::merge(const QuantileSketch& other) {
  if (levels_.size() < other.levels_.size()) levels_.resize(other.levels_.size());
  for (size_t i = 0; i < other.levels_.size(); ++i) {
    const std::vector<double>& numbers = other.levels_[i].numbers;
    levels_[i].numbers.insert(levels_[i].numbers.end(), numbers.begin(), numbers.end());
  }
  count_ += other.count_;
  halve_full_levels();
}

// An odd number stays behind, so that what the levels stand for is the count.
void QuantileSketch::halve_full_levels() {
  for (size_t i = 0; i < levels_.size(); ++i) {
    if (levels_[i].numbers.size() <= kLevelSize) continue;
    if (i + 1 == levels_.size()) levels_.emplace_back();
    Level& level = levels_[i];
    std::ranges::sort(level.numbers);
    const size_t even = level.numbers.size() / 2 * 2;
    for (size_t at = level.takes_second ? 1 : 0; at < even; at += 2) {
      levels_[i + 1].numbers.push_back(level.numbers[at]);
    }
    level.takes_second = !level.takes_second;
    level.numbers.erase(level.numbers.begin(), level.numbers.begin() + static_cast<int64_t>(even));
  }
}

double QuantileSketch::quantile(double share) const {
  std::vector<std::pair<double, int64_t>> all;  // With what each stands for.
  for (size_t i = 0; i < levels_.size(); ++i) {
    for (const double number : levels_[i].numbers) all.emplace_back(number, int64_t{1} << i);
  }
  std::ranges::sort(all);
  int64_t before = 0;
  for (const auto& [number, weight] : all) {
    before += weight;
    if (static_cast<double>(before) >= share * static_cast<double>(count_)) return number;
  }
  return 0;
}

}  // namespace snug

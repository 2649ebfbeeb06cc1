#include "snug/data/quantile_sketch.h"

#include <algorithm>
#include <utility>

namespace snug {

void QuantileSketch::add(double value) {
  levels_[0].push_back(value);
  ++count_;
  if (levels_[0].size() >= kLevel) compact(0);
}

void QuantileSketch::merge(const QuantileSketch& other) {
  count_ += other.count_;
  for (size_t level = 0; level < other.levels_.size(); ++level) {
    if (level == levels_.size()) {
      levels_.emplace_back();
      odd_.push_back(false);
    }
    const std::vector<double>& more = other.levels_[level];
    levels_[level].insert(levels_[level].end(), more.begin(), more.end());
  }
  for (size_t level = 0; level < levels_.size(); ++level) {
    if (levels_[level].size() >= kLevel) compact(level);
  }
}

void QuantileSketch::compact(size_t level) {
  if (level + 1 == levels_.size()) {
    levels_.emplace_back();
    odd_.push_back(false);
  }
  std::vector<double> full = std::move(levels_[level]);
  levels_[level].clear();
  std::ranges::sort(full);
  // Of an odd number the largest stays where it is.
  if (full.size() % 2 == 1) {
    levels_[level].push_back(full.back());
    full.pop_back();
  }
  for (size_t i = odd_[level] ? 1 : 0; i < full.size(); i += 2)
    levels_[level + 1].push_back(full[i]);
  odd_[level] = !odd_[level];
  if (levels_[level + 1].size() >= kLevel) compact(level + 1);
}

double QuantileSketch::quantile(double share) const {
  std::vector<std::pair<double, int64_t>> weighed;
  for (size_t level = 0; level < levels_.size(); ++level) {
    for (const double value : levels_[level]) weighed.emplace_back(value, int64_t{1} << level);
  }
  if (weighed.empty()) return 0;
  std::ranges::sort(weighed);
  int64_t total = 0;
  for (const auto& [value, weight] : weighed) total += weight;
  const double wanted = share * static_cast<double>(total);
  int64_t below = 0;
  for (size_t i = 0; i < weighed.size(); ++i) {
    below += weighed[i].second;
    if (static_cast<double>(below) < wanted) continue;
    const bool between = static_cast<double>(below) == wanted && i + 1 < weighed.size();
    return between ? (weighed[i].first + weighed[i + 1].first) / 2 : weighed[i].first;
  }
  return weighed.back().first;
}

}  // namespace snug

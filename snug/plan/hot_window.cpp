#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "snug/plan/placement.h"

namespace snug {
namespace {

// More items than this make the exact search too slow to be worth it.
constexpr size_t kMostItems = 800;

// For each item, the most bytes that live at any step of its life.
std::vector<int64_t> fullest_moments(std::span<const Item> items) {
  int steps = 1;
  for (const Item& item : items) steps = std::max(steps, item.last + 1);
  std::vector<int64_t> live(steps + 1, 0);
  for (const Item& item : items) {
    live[item.first] += item.bytes;
    live[item.last + 1] -= item.bytes;
  }
  std::partial_sum(live.begin(), live.end(), live.begin());
  std::vector<std::vector<int64_t>> most{live};  // most[k][t]: over the 2^k steps from t.
  for (int width = 1; 2 * width <= steps; width *= 2) {
    const std::vector<int64_t>& half = most.back();
    std::vector<int64_t> whole(half.size());
    for (size_t t = 0; t < half.size(); ++t) {
      whole[t] = std::max(half[t], half[std::min(t + width, half.size() - 1)]);
    }
    most.push_back(std::move(whole));
  }
  std::vector<int64_t> fullest;
  for (const Item& item : items) {
    size_t level = 0;
    while ((2 << level) <= item.last - item.first + 1) ++level;
    fullest.push_back(std::max(most[level][item.first], most[level][item.last + 1 - (1 << level)]));
  }
  return fullest;
}

struct Halves {
  std::vector<int> hot, cold;
};

Halves divide(std::span<const Item> items, std::span<const int64_t> fullest, int64_t threshold) {
  Halves halves;
  for (int i = 0; i < static_cast<int>(items.size()); ++i) {
    if (items[i].bytes > 0) (fullest[i] >= threshold ? halves.hot : halves.cold).push_back(i);
  }
  const auto larger = [&](int a, int b) { return items[a].bytes > items[b].bytes; };
  std::stable_sort(halves.cold.begin(), halves.cold.end(), larger);
  return halves;
}

}  // namespace

ExactPlacement place_hot_window(std::span<const Item> items, int64_t capacity, int64_t max_work) {
  const std::vector<int64_t> fullest = fullest_moments(items);
  constexpr std::array kThresholds = {0.999, 0.97, 0.9, 0.75, 0.5, 0.0};
  ExactPlacement result;
  size_t tried = 0;
  for (const double share : kThresholds) {
    const auto threshold = static_cast<int64_t>(share * static_cast<double>(capacity));
    const Halves halves = divide(items, fullest, threshold);
    const bool last = share == kThresholds.back();
    if (halves.hot.size() == tried && !last) continue;
    if (halves.hot.size() > kMostItems || result.work >= max_work) break;
    tried = halves.hot.size();
    std::vector<Item> hot;
    for (const int i : halves.hot) hot.push_back(items[i]);
    ExactPlacement exact = place_exactly(hot, capacity, max_work - result.work);
    result.work += exact.work;
    result.outcome = exact.outcome;
    if (exact.outcome != Outcome::found) return result;
    Packer packer(items);
    for (const Fit fit : {Fit::first, Fit::best}) {
      result.placement =
          packer.pack_around(halves.hot, exact.placement.offsets, halves.cold, fit, capacity + 1);
      if (result.placement.height <= capacity) return result;
    }
    result.outcome = Outcome::gave_up;
  }
  return result;
}

}  // namespace snug

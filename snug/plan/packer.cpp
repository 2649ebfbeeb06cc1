#include "snug/plan/packer.h"

#include <algorithm>
#include <bit>

namespace snug {

Packer::Packer(std::span<const Item> items) : items_(items) {
  for (const Item& item : items) steps_ = std::max(steps_, item.last + 1);
  const auto wanted = std::clamp<unsigned>(static_cast<unsigned>(items.size() / 128), 1, 64);
  leaves_ = static_cast<int>(std::bit_floor(wanted));
  ranges_.resize(2 * leaves_);
}

int Packer::enclosing_range(const Item& item) const {
  int a = leaves_ + static_cast<int>(int64_t{item.first} * leaves_ / steps_);
  int b = leaves_ + static_cast<int>(int64_t{item.last} * leaves_ / steps_);
  while (a != b) {
    a /= 2;
    b /= 2;
  }
  return a;
}

int64_t Packer::lowest_offset(const Item& item, Fit fit) {
  int64_t low = 0, best = -1, best_gap = INT64_MAX;
  for (const Placed& placed : ranges_[enclosing_range(item)]) {
    ++work_;
    if (placed.first > item.last || placed.last < item.first) continue;
    const int64_t gap = placed.offset - low;
    if (gap >= item.bytes && gap < best_gap) {
      if (fit == Fit::first) return low;
      best = low;
      best_gap = gap;
    }
    low = std::max(low, placed.end);
  }
  return best >= 0 ? best : low;
}

void Packer::insert(const Item& item, int64_t offset) {
  const Placed placed{item.first, item.last, offset, offset + item.bytes};
  const auto add = [&](int range) {
    std::vector<Placed>& list = ranges_[range];
    const auto above = [&](int64_t value, const Placed& other) { return value < other.offset; };
    list.insert(std::upper_bound(list.begin(), list.end(), offset, above), placed);
  };
  int a = leaves_ + static_cast<int>(int64_t{item.first} * leaves_ / steps_);
  int b = leaves_ + static_cast<int>(int64_t{item.last} * leaves_ / steps_);
  for (; a >= 1; a /= 2, b /= 2) {
    for (int range = a; range <= b; ++range) add(range);
  }
}

Placement Packer::pack(std::span<const int> order, Fit fit, int64_t limit) {
  for (auto& range : ranges_) range.clear();
  Placement placement;
  placement.offsets.assign(items_.size(), 0);
  for (const int i : order) {
    const Item& item = items_[i];
    if (item.bytes == 0) continue;
    const int64_t offset = lowest_offset(item, fit);
    placement.offsets[i] = offset;
    placement.height = std::max(placement.height, offset + item.bytes);
    if (placement.height >= limit) break;
    insert(item, offset);
  }
  return placement;
}

}  // namespace snug

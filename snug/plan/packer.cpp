#include "snug/plan/packer.h"

#include <algorithm>
#include <bit>

namespace snug {
namespace {

constexpr size_t kPiece = 256;

}  // namespace

Packer::Packer(std::span<const Item> items) : items_(items) {
  for (const Item& item : items) steps_ = std::max(steps_, item.last + 1);
  const auto wanted = std::clamp<unsigned>(static_cast<unsigned>(items.size() / 256), 1, 32);
  leaves_ = static_cast<int>(std::bit_floor(wanted));
  ranges_.resize(2 * leaves_);
}

int Packer::leaf(int step) const {
  return leaves_ + static_cast<int>(int64_t{step} * leaves_ / steps_);
}

int Packer::enclosing_range(const Item& item) const {
  int a = leaf(item.first), b = leaf(item.last);
  for (; a != b; b /= 2) a /= 2;
  return a;
}

int64_t Packer::lowest_offset(const Item& item, Fit fit) {
  int64_t low = 0, best = -1, best_gap = INT64_MAX;
  for (const auto& piece : ranges_[enclosing_range(item)]) {
    work_ += static_cast<int64_t>(piece.size());
    for (const Placed& placed : piece) {
      if (placed.first > item.last || placed.last < item.first) continue;
      const int64_t gap = placed.offset - low;
      if (gap >= item.bytes && gap < best_gap) {
        if (fit == Fit::first) return low;
        best = low;
        best_gap = gap;
      }
      low = std::max(low, placed.end);
    }
  }
  return best >= 0 ? best : low;
}

void Packer::insert(const Placed& placed, Shelf& shelf) {
  if (shelf.empty()) shelf.emplace_back();
  const auto above = [](int64_t offset, const auto& piece) {
    return offset < piece.front().offset;
  };
  auto piece = shelf.begin();
  if (!piece->empty()) {
    piece = std::upper_bound(shelf.begin(), shelf.end(), placed.offset, above);
    if (piece != shelf.begin()) --piece;
  }
  const auto over = [](int64_t offset, const Placed& other) { return offset < other.offset; };
  piece->insert(std::upper_bound(piece->begin(), piece->end(), placed.offset, over), placed);
  if (piece->size() < kPiece) return;
  std::vector<Placed> upper(piece->begin() + kPiece / 2, piece->end());
  piece->resize(kPiece / 2);
  shelf.insert(piece + 1, std::move(upper));
}

void Packer::insert(const Item& item, int64_t offset) {
  const Placed placed{item.first, item.last, offset, offset + item.bytes};
  int a = leaf(item.first), b = leaf(item.last);
  for (; a >= 1; a /= 2, b /= 2) {
    for (int range = a; range <= b; ++range) insert(placed, ranges_[range]);
  }
}

void Packer::add(std::span<const int> order, Fit fit, int64_t limit, Placement& placement) {
  for (const int i : order) {
    const Item& item = items_[i];
    if (item.bytes == 0) continue;
    const int64_t offset = lowest_offset(item, fit);
    placement.offsets[i] = offset;
    placement.height = std::max(placement.height, offset + item.bytes);
    if (placement.height >= limit) return;
    insert(item, offset);
  }
}

Placement Packer::pack(std::span<const int> order, Fit fit, int64_t limit) {
  return pack_around({}, {}, order, fit, limit);
}

Placement Packer::pack_around(std::span<const int> placed, std::span<const int64_t> offsets,
                              std::span<const int> order, Fit fit, int64_t limit) {
  for (auto& range : ranges_) range.clear();
  Placement placement{std::vector<int64_t>(items_.size(), 0), 0};
  for (size_t k = 0; k < placed.size(); ++k) {
    placement.offsets[placed[k]] = offsets[k];
    placement.height = std::max(placement.height, offsets[k] + items_[placed[k]].bytes);
    insert(items_[placed[k]], offsets[k]);
  }
  add(order, fit, limit, placement);
  return placement;
}

}  // namespace snug

#include "snug/plan/packer.h"

#include <algorithm>
#include <bit>
#include <climits>

namespace snug {
namespace {

// Few items are quicker to look through than a tree of them.
constexpr size_t kItemsOfALeaf = 128;
constexpr int kMostLeaves = 4096;

}  // namespace

Packer::Packer(std::span<const Item> items) : items_(items) {
  for (const Item& item : items) steps_ = std::max(steps_, item.last + 1);
  const auto wanted =
      std::clamp<unsigned>(static_cast<unsigned>(items.size() / kItemsOfALeaf), 1, kMostLeaves);
  leaves_ = static_cast<int>(std::bit_floor(wanted));
  stretches_.resize(2 * leaves_);
}

int Packer::leaf(int step) const {
  return leaves_ + static_cast<int>(int64_t{step} * leaves_ / steps_);
}

void Packer::add_shelf(const Shelf& shelf, bool has_times) {
  if (!shelf.empty()) cursors_.push_back({shelf.data(), shelf.data() + shelf.size(), has_times});
}

// Those of the first and the last leaf, of the stretches between them, and of all that contain one
// of these.
void Packer::find_shelves(const Item& item) {
  cursors_.clear();
  int a = leaf(item.first), b = leaf(item.last);
  add_shelf(stretches_[a].inside, /*has_times=*/true);
  if (a != b) add_shelf(stretches_[b].inside, /*has_times=*/true);
  for (; a != b; a /= 2, b /= 2) {
    add_shelf(stretches_[a].across);
    add_shelf(stretches_[b].across);
    if (a / 2 == b / 2) continue;
    for (const int between : {a % 2 == 0 ? a + 1 : 0, b % 2 == 1 ? b - 1 : 0}) {
      if (between == 0) continue;
      add_shelf(stretches_[between].across);
      add_shelf(stretches_[between].inside, /*has_times=*/between >= leaves_);
    }
  }
  for (; a >= 1; a /= 2) add_shelf(stretches_[a].across);
}

// To the next bytes that end above `low` and are taken while the item lives. False: there are none.
bool Packer::advance(Cursor& cursor, const Item& item, int64_t low) {
  const Taken* at = cursor.at;
  if (cursor.has_times) {
    while (at != cursor.end && (at->to <= low || at->first > item.last || at->last < item.first))
      ++at;
    work_ += at - cursor.at;
  } else if (at != cursor.end && at->to <= low) {
    // The ends are sorted: in steps that double.
    std::ptrdiff_t step = 1;
    for (; cursor.end - at > step && at[step].to <= low; step *= 2) at += step;
    const Taken* last = cursor.end - at > step ? at + step : cursor.end;
    at = std::lower_bound(at + 1, last, low,
                          [](const Taken& taken, int64_t offset) { return taken.to <= offset; });
    work_ += std::bit_width(static_cast<uint64_t>(step));
  }
  ++work_;
  cursor.at = at;
  return at != cursor.end;
}

// The lowest place at or above `low` with so many free bytes.
int64_t Packer::first_free(const Item& item, int64_t low, int64_t bytes) {
  for (size_t c = 0, passed = 0; passed < cursors_.size();) {
    if (c >= cursors_.size()) c = 0;
    if (!advance(cursors_[c], item, low)) {
      cursors_[c] = cursors_.back();
      cursors_.pop_back();
      passed = 0;
    } else if (cursors_[c].at->from < low + bytes) {
      low = cursors_[c].at->to;
      passed = 0;
    } else {
      ++passed;
      ++c;
    }
  }
  return low;
}

// Where the free bytes at `low` end.
int64_t Packer::next_taken(const Item& item, int64_t low) {
  int64_t next = INT64_MAX;
  for (Cursor& cursor : cursors_) {
    if (advance(cursor, item, low)) next = std::min(next, cursor.at->from);
  }
  return next;
}

int64_t Packer::lowest_offset(const Item& item, Fit fit) {
  find_shelves(item);
  if (fit == Fit::first) return first_free(item, 0, item.bytes);
  int64_t best = -1, best_gap = INT64_MAX;
  for (int64_t low = 0;;) {
    low = first_free(item, low, item.bytes);
    const int64_t next = next_taken(item, low);
    if (next == INT64_MAX) return best >= 0 ? best : low;
    if (next - low < best_gap) {
      best = low;
      best_gap = next - low;
    }
    low = next;
  }
}

namespace {

// Without times: neighbours become one.
template <typename Shelf>
void unite(Shelf& shelf, int64_t from, int64_t to) {
  auto first =
      std::lower_bound(shelf.begin(), shelf.end(), from,
                       [](const auto& taken, int64_t offset) { return taken.to < offset; });
  auto last = first;
  for (; last != shelf.end() && last->from <= to; ++last) {
    from = std::min(from, last->from);
    to = std::max(to, last->to);
  }
  if (first == last) {
    shelf.insert(first, {from, to, 0, INT_MAX});
    return;
  }
  *first = {from, to, 0, INT_MAX};
  shelf.erase(first + 1, last);
}

}  // namespace

void Packer::insert(const Item& item, int64_t offset) {
  const int64_t end = offset + item.bytes;
  int a = leaf(item.first), b = leaf(item.last);
  const auto put = [&](int leaf) {
    Shelf& shelf = stretches_[leaf].inside;
    const auto over = [](int64_t from, const Taken& other) { return from < other.from; };
    shelf.insert(std::upper_bound(shelf.begin(), shelf.end(), offset, over),
                 {offset, end, item.first, item.last});
  };
  put(a);
  if (a != b) put(b);
  for (; a > 1; a /= 2, b /= 2) {
    if (a / 2 != b / 2) {
      if (a % 2 == 0) unite(stretches_[a + 1].across, offset, end);
      if (b % 2 == 1) unite(stretches_[b - 1].across, offset, end);
    }
    unite(stretches_[a / 2].inside, offset, end);
    if (a / 2 != b / 2) unite(stretches_[b / 2].inside, offset, end);
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
  for (Stretch& stretch : stretches_) {
    stretch.across.clear();
    stretch.inside.clear();
  }
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

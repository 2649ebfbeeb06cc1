#include "snug/plan/placement.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <tuple>
#include <vector>

namespace snug {
namespace {

using Order = std::vector<int>;

// Places looked at (about a nanosecond each), so that the same problem gives the same plan on any
// machine.
constexpr int64_t kPortfolioWork = 150'000'000;
constexpr int64_t kClimbWork = 50'000'000;
constexpr int kClimbTries = 4000;
constexpr int kFewestTries = 20;  // With less work than for so many, climbing leads nowhere.
constexpr int64_t kSearchWork = 1'000'000;
constexpr int64_t kCapacityWork = 600'000;
constexpr int64_t kQuickPart = 10, kPatientTimes = 3;

using Key = std::tuple<double, double, int>;

Key sort_key(const Item& item, int rank) {
  const double bytes = static_cast<double>(item.bytes), life = item.last - item.first + 1;
  switch (rank) {
    case 0:
      return {-bytes, 0, item.first};
    case 1:
      return {-bytes, -life, item.first};
    case 2:
      return {-bytes * life, -bytes, item.first};
    case 3:
      return {-life, -bytes, item.first};
    default:
      return {item.first, -bytes, -item.last};
  }
}
constexpr int kRanks = 5;

Order sorted(std::span<const Item> items, int rank) {
  Order order(items.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return sort_key(items[a], rank) < sort_key(items[b], rank);
  });
  return order;
}

struct Random {
  uint64_t state = 0x9e3779b97f4a7c15;
  int below(int n) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return static_cast<int>((state >> 33) % static_cast<uint64_t>(n));
  }
};

struct Candidate {
  Placement placement;
  Order order;
  Fit fit = Fit::first;
  int64_t work = 0;  // That packing it took.
};

Candidate best_of_portfolio(std::span<const Item> items, Packer& packer, int64_t bound) {
  Candidate best;
  best.placement.height = INT64_MAX;
  for (int rank = 0; rank < kRanks; ++rank) {
    const Order order = sorted(items, rank);
    for (const Fit fit : {Fit::first, Fit::best}) {
      const int64_t start = packer.work();
      Placement placement = packer.pack(order, fit, best.placement.height);
      if (placement.height < best.placement.height)
        best = {std::move(placement), order, fit, packer.work() - start};
      if (best.placement.height <= bound || packer.work() > kPortfolioWork) return best;
    }
  }
  return best;
}

// The items whose end is the height, by their position in the order.
std::vector<int> top_positions(std::span<const Item> items, const Candidate& candidate) {
  std::vector<int> top;
  for (int p = 0; p < static_cast<int>(candidate.order.size()); ++p) {
    const int i = candidate.order[p];
    if (candidate.placement.offsets[i] + items[i].bytes == candidate.placement.height)
      top.push_back(p);
  }
  return top;
}

// Moves an item that defines the height, or one that lives beside it, to an earlier place and packs
// again. Equal heights are taken too: they let the search walk on a plateau.
void climb(std::span<const Item> items, Packer& packer, int64_t goal, int64_t work,
           Candidate& best) {
  const int64_t start = packer.work();
  if (best.work > work / kFewestTries) return;
  Random random;
  for (int tries = 0; tries < kClimbTries && best.placement.height > goal; ++tries) {
    if (packer.work() - start > work) return;
    const std::vector<int> top = top_positions(items, best);
    int from = top[random.below(static_cast<int>(top.size()))];
    const Item& item = items[best.order[from]];
    for (int tries_left = 8; tries_left > 0 && random.below(2) == 0; --tries_left) {
      const int other = random.below(static_cast<int>(best.order.size()));
      const Item& neighbour = items[best.order[other]];
      if (neighbour.first <= item.last && item.first <= neighbour.last) from = other;
    }
    if (from == 0) continue;
    const int to = random.below(from);
    Candidate next{{}, best.order, best.fit, best.work};
    std::rotate(next.order.begin() + to, next.order.begin() + from, next.order.begin() + from + 1);
    next.placement = packer.pack(next.order, next.fit, best.placement.height + 1);
    if (next.placement.height <= best.placement.height) best = std::move(next);
  }
}

// Looks for a placement of at most this height.
bool search(std::span<const Item> items, int64_t height, int64_t work, Candidate& best) {
  if (height >= best.placement.height) return true;
  ExactPlacement exact = place_hot_window(items, height, work);
  if (exact.outcome != Outcome::found) return false;
  best.placement = std::move(exact.placement);
  return true;
}

// Towards the bound, in case there is time left for the last thousandths.
void lower(std::span<const Item> items, int64_t bound, Packer& packer, Candidate& best) {
  for (const int64_t thousandths : {0, 2, 10, 30}) {
    if (search(items, bound + bound * thousandths / 1000, kSearchWork, best)) break;
  }
  if (best.placement.height - bound > bound / 500)
    climb(items, packer, bound + bound / 500, kClimbWork, best);
}

}  // namespace

int64_t max_live(std::span<const Item> items) {
  int steps = 0;
  for (const Item& item : items) steps = std::max(steps, item.last + 1);
  std::vector<int64_t> change(steps + 1, 0);
  for (const Item& item : items) {
    change[item.first] += item.bytes;
    change[item.last + 1] -= item.bytes;
  }
  int64_t live = 0, most = 0;
  for (const int64_t delta : change) most = std::max(most, live += delta);
  return most;
}

Placement place(std::span<const Item> items, int64_t capacity, Aim aim) {
  const int64_t bound = max_live(items);
  if (bound == 0) return {std::vector<int64_t>(items.size(), 0), 0};
  Packer packer(items);
  Candidate best =
      best_of_portfolio(items, packer, aim == Aim::lowest ? bound : std::max(bound, capacity));
  if (aim == Aim::lowest) lower(items, bound, packer, best);
  // Worth the time only because the alternative is to compute something again, or to refuse.
  if (best.placement.height > capacity && capacity >= bound) {
    const int64_t part = aim == Aim::quickly ? kQuickPart : 1;
    const int64_t times = aim == Aim::patiently ? kPatientTimes : 1;
    if (!search(items, capacity, times * kCapacityWork / part, best))
      climb(items, packer, capacity, kClimbWork / part, best);
  }
  return std::move(best.placement);
}

}  // namespace snug

// Packing of buffers with fixed lifetimes, one after the other in a given order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace snug {

// Bytes that one thing needs from the step `first` to the step `last`, both included.
struct Item {
  int first = 0;
  int last = 0;
  int64_t bytes = 0;
};

// Offsets in the order of the items. Two items that live at the same step share no byte.
struct Placement {
  std::vector<int64_t> offsets;
  int64_t height = 0;
};

// first: the lowest gap that is large enough. best: the smallest such gap, else on top of
// everything.
enum class Fit { first, best };

// Packs the items again and again, each time in another order. It keeps the items' neighbourhoods
// in time, so that a short item looks only at what lives near it.
class Packer {
 public:
  explicit Packer(std::span<const Item> items);

  // Gives up as soon as the height reaches `limit`: the height of the result is then at least
  // `limit` and the offsets are those so far.
  Placement pack(std::span<const int> order, Fit fit, int64_t limit);

  // The same for the items of `order` alone, around `placed` items that already stand at `offsets`.
  Placement pack_around(std::span<const int> placed, std::span<const int64_t> offsets,
                        std::span<const int> order, Fit fit, int64_t limit);

  // Neighbours looked at since the packer was made: what a search spends, the same on every
  // machine.
  int64_t work() const { return work_; }

 private:
  struct Placed {
    int first, last;
    int64_t offset, end;
  };
  // Sorted by offset, cut into short pieces so that an insertion moves little.
  using Shelf = std::vector<std::vector<Placed>>;

  int leaf(int step) const;
  int enclosing_range(const Item& item) const;
  int64_t lowest_offset(const Item& item, Fit fit);
  void insert(const Item& item, int64_t offset);
  static void insert(const Placed& placed, Shelf& shelf);
  void add(std::span<const int> order, Fit fit, int64_t limit, Placement& placement);

  std::span<const Item> items_;
  int leaves_ = 1;  // Equal stretches of time, a power of two.
  int steps_ = 1;
  int64_t work_ = 0;
  // A binary tree over the stretches (root at 1). Each entry holds what lives anywhere in its
  // stretch.
  std::vector<Shelf> ranges_;
};

}  // namespace snug

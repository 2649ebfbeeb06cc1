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

// Packs the items again and again, each time in another order.
class Packer {
 public:
  explicit Packer(std::span<const Item> items);

  // Gives up as soon as the height reaches `limit`: the height of the result is then at least
  // `limit` and the offsets are those so far.
  Placement pack(std::span<const int> order, Fit fit, int64_t limit);

  // The same for the items of `order` alone, around `placed` items that already stand at `offsets`.
  Placement pack_around(std::span<const int> placed, std::span<const int64_t> offsets,
                        std::span<const int> order, Fit fit, int64_t limit);

  // Places looked at since the packer was made: what a search spends, the same on every machine.
  int64_t work() const { return work_; }

 private:
  // Bytes that are taken from one step to another.
  struct Taken {
    int64_t from, to;
    int first, last;
  };
  using Shelf = std::vector<Taken>;  // Sorted by bytes.
  // A stretch of time, a node of a binary tree (root at 1). What fills all of it stands in
  // `across`, what begins or ends in it in `inside`: whoever needs the whole stretch needs neither
  // times nor single items, so neighbours in bytes are one. A leaf is a few steps; there `inside`
  // holds items with their times.
  struct Stretch {
    Shelf across, inside;
  };
  // A walk up a shelf past what lives while an item does.
  struct Cursor {
    const Taken *at, *end;
    bool has_times;
  };

  int leaf(int step) const;
  void find_shelves(const Item& item);
  void add_shelf(const Shelf& shelf, bool has_times = false);
  bool advance(Cursor& cursor, const Item& item, int64_t low);
  int64_t first_free(const Item& item, int64_t low, int64_t bytes);
  int64_t next_taken(const Item& item, int64_t low);
  int64_t lowest_offset(const Item& item, Fit fit);
  void insert(const Item& item, int64_t offset);
  void add(std::span<const int> order, Fit fit, int64_t limit, Placement& placement);

  std::span<const Item> items_;
  int leaves_ = 1;  // Equal stretches of time, a power of two.
  int steps_ = 1;
  int64_t work_ = 0;
  std::vector<Stretch> stretches_;
  std::vector<Cursor> cursors_;  // Of the shelves that an item has to pass.
};

}  // namespace snug

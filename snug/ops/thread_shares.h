// Which stretches of many arrays the threads of a pass take.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace snug::ops {

// A large array is cut into one stretch for each thread, in the same way by every pass and by the
// product that makes a gradient: a thread finds in its own cache what it has written, and no other
// one has read it (a line that another core has read is written 10 to 40 ns later, Zen 4). All
// others are laid end to end and cut together, so that many small ones are shared out too.
class ThreadShares {
 public:
  static constexpr int64_t kLarge = 16 * 1024;  // Elements.

  struct Range {
    int64_t begin, end;  // Nothing where the end is not behind the begin.
  };

  // Cuts are at multiples of `grain`.
  explicit ThreadShares(int64_t grain) : grain_(grain) {}

  void add(int64_t size, bool large);
  Range share(size_t array, int part, int parts) const;

 private:
  struct Array {
    int64_t first;  // Among those that are cut together; below 0 for a large one.
    int64_t size;
  };

  Range cut(int64_t size, int part, int parts) const;

  int64_t grain_;
  int64_t together_ = 0;
  std::vector<Array> arrays_;
};

}  // namespace snug::ops

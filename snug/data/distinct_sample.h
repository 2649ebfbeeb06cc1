// About how many different things came, of any number, in fixed memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace snug {

// Holds the hashes that end in so many zeros that they are few. What it tells depends on what came,
// not on the order, nor on how often, nor on which of several samples that are merged it came to.
class DistinctSample {
 public:
  // Of `most` hashes: with 256 the number is right to about 6 %.
  explicit DistinctSample(size_t most) : most_(most) {}

  void add(uint64_t hash);
  void merge(const DistinctSample& other);
  int64_t estimate() const { return static_cast<int64_t>(hashes_.size()) << zeros_; }

 private:
  bool is_sampled(uint64_t hash) const { return (hash & ((uint64_t{1} << zeros_) - 1)) == 0; }

  size_t most_;
  int zeros_ = 0;
  std::vector<uint64_t> hashes_;  // Sorted.
};

}  // namespace snug

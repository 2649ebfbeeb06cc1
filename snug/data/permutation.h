#pragma once

#include <cstdint>

namespace snug {

// A permutation of 0 .. size-1 that depends on (seed, epoch) only and takes no memory: row numbers
// are shuffled, not rows. A Feistel network over the next power of two, walked until it lands
// inside.
class Permutation {
 public:
  Permutation(int64_t size, uint64_t seed, uint64_t epoch);

  int64_t size() const { return size_; }
  // The row at a position; each row stands at exactly one position.
  int64_t operator()(int64_t position) const;

 private:
  static constexpr int kRounds = 6;
  uint64_t encrypt(uint64_t value) const;

  int64_t size_;
  int right_bits_;
  uint64_t left_mask_, right_mask_;
  uint64_t keys_[kRounds];
};

}  // namespace snug

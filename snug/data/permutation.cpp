#include "snug/data/permutation.h"

#include <algorithm>
#include <bit>

#include "snug/base/error.h"

namespace snug {
namespace {

// A bijection that spreads every bit over all others (the finaliser of splitmix64).
uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

}  // namespace

Permutation::Permutation(int64_t size, uint64_t seed, uint64_t epoch) : size_(size) {
  SNUG_CHECK(size >= 0);
  // Halves of less than three bits do not mix well.
  const auto last = static_cast<uint64_t>(std::max<int64_t>(size, 1)) - 1;
  const int bits = std::max<int>(6, std::bit_width(last));
  right_bits_ = (bits + 1) / 2;
  right_mask_ = (uint64_t{1} << right_bits_) - 1;
  left_mask_ = (uint64_t{1} << (bits - right_bits_)) - 1;
  uint64_t state = mix(seed + 0x9e3779b97f4a7c15) ^ mix(epoch + 0x7f4a7c159e3779b9);
  for (uint64_t& key : keys_) key = mix(state += 0x9e3779b97f4a7c15);
}

// Each half in turn is changed by the other, so the halves may have different sizes.
uint64_t Permutation::encrypt(uint64_t value) const {
  uint64_t left = value >> right_bits_, right = value & right_mask_;
  for (int round = 0; round < kRounds; round += 2) {
    left ^= mix(right ^ keys_[round]) & left_mask_;
    right ^= mix(left ^ keys_[round + 1]) & right_mask_;
  }
  return left << right_bits_ | right;
}

// But for a few rows, the domain is less than twice the size, so the walk takes few steps.
int64_t Permutation::operator()(int64_t position) const {
  auto value = static_cast<uint64_t>(position);
  do value = encrypt(value);
  while (value >= static_cast<uint64_t>(size_));
  return static_cast<int64_t>(value);
}

}  // namespace snug

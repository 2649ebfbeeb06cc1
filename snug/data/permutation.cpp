#include "snug/data/permutation.h"

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

Permutation::Permutation(int64_t size, uint64_t seed, uint64_t epoch) : size_(size), half_bits_(1) {
  SNUG_CHECK(size >= 0);
  while ((uint64_t{1} << (2 * half_bits_)) < static_cast<uint64_t>(size)) ++half_bits_;
  half_mask_ = (uint64_t{1} << half_bits_) - 1;
  uint64_t state = mix(seed + 0x9e3779b97f4a7c15) ^ mix(epoch + 0x7f4a7c159e3779b9);
  for (uint64_t& key : keys_) key = mix(state += 0x9e3779b97f4a7c15);
}

uint64_t Permutation::encrypt(uint64_t value) const {
  uint64_t left = value >> half_bits_, right = value & half_mask_;
  for (const uint64_t key : keys_) {
    const uint64_t next = left ^ (mix(right ^ key) & half_mask_);
    left = right;
    right = next;
  }
  return left << half_bits_ | right;
}

// The domain is less than four times the size, so the walk takes few steps.
int64_t Permutation::operator()(int64_t position) const {
  auto value = static_cast<uint64_t>(position);
  do value = encrypt(value);
  while (value >= static_cast<uint64_t>(size_));
  return static_cast<int64_t>(value);
}

}  // namespace snug

// A set of small numbers.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace snug {

// Numbers from 0 up to, but not, kSize, a multiple of 64.
template <size_t kSize>
class Bits {
 public:
  static_assert(kSize % 64 == 0);

  bool operator[](size_t i) const { return (words_[i / 64] >> (i % 64) & 1) != 0; }
  Bits& set(size_t i) {
    words_[i / 64] |= uint64_t{1} << (i % 64);
    return *this;
  }
  Bits& reset(size_t i) {
    words_[i / 64] &= ~(uint64_t{1} << (i % 64));
    return *this;
  }

  Bits& operator|=(const Bits& other) {
    for (size_t w = 0; w < words_.size(); ++w) words_[w] |= other.words_[w];
    return *this;
  }
  Bits& operator&=(const Bits& other) {
    for (size_t w = 0; w < words_.size(); ++w) words_[w] &= other.words_[w];
    return *this;
  }
  // Those of `a` that are not in `b`.
  friend Bits operator-(Bits a, const Bits& b) {
    for (size_t w = 0; w < a.words_.size(); ++w) a.words_[w] &= ~b.words_[w];
    return a;
  }
  friend Bits operator|(Bits a, const Bits& b) { return a |= b; }
  friend Bits operator&(Bits a, const Bits& b) { return a &= b; }
  bool operator==(const Bits&) const = default;

  bool any() const {
    uint64_t all = 0;
    for (const uint64_t word : words_) all |= word;
    return all != 0;
  }
  bool none() const { return !any(); }
  // Whether all of them are in `other`.
  bool is_in(const Bits& other) const {
    uint64_t left = 0;
    for (size_t w = 0; w < words_.size(); ++w) left |= words_[w] & ~other.words_[w];
    return left == 0;
  }
  bool meets(const Bits& other) const {
    uint64_t both = 0;
    for (size_t w = 0; w < words_.size(); ++w) both |= words_[w] & other.words_[w];
    return both != 0;
  }
  size_t count() const {
    size_t count = 0;
    for (const uint64_t word : words_) count += static_cast<size_t>(std::popcount(word));
    return count;
  }
  // In order.
  template <typename Each>
  void for_each(const Each& each) const {
    for (size_t w = 0; w < words_.size(); ++w) {
      for (uint64_t rest = words_[w]; rest != 0; rest &= rest - 1)
        each(static_cast<int>(64 * w) + std::countr_zero(rest));
    }
  }
  size_t hash() const {
    uint64_t hash = 0;
    for (const uint64_t word : words_) {
      hash = (hash ^ word) * 0x9e3779b97f4a7c15;
      hash ^= hash >> 32;
    }
    return hash;
  }

 private:
  std::array<uint64_t, kSize / 64> words_{};
};

}  // namespace snug

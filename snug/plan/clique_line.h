// Time as the exact search sees it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "snug/plan/packer.h"

namespace snug {

// The moments that matter: the largest sets of items that live at once, in the order of time. Every
// other set of items that meet is part of one of them, so an item is a stretch of cliques and two
// items meet if their stretches do.
struct CliqueLine {
  explicit CliqueLine(std::span<const Item> items);

  int items = 0, cliques = 0;
  std::vector<int> first, last;  // By item: its first and last clique.
};

// Rows of bits, one bit for each item.
class BitRows {
 public:
  BitRows(int rows, int bits) : words_((bits + 63) / 64), bits_(size_t(rows) * words_, 0) {}

  int words() const { return words_; }
  const uint64_t* row(int r) const { return bits_.data() + size_t(r) * words_; }
  void set(int r, int bit) { bits_[size_t(r) * words_ + bit / 64] |= uint64_t{1} << (bit % 64); }
  void clear(int r, int bit) {
    bits_[size_t(r) * words_ + bit / 64] &= ~(uint64_t{1} << (bit % 64));
  }

 private:
  int words_;
  std::vector<uint64_t> bits_;
};

}  // namespace snug

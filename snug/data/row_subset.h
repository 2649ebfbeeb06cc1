// Some of the rows 0 .. n-1: one bit a row, and the number of any of them at once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "snug/data/source.h"

namespace snug {

class RowSubset {
 public:
  explicit RowSubset(int64_t size) : size_(size), words_(static_cast<size_t>((size + 63) / 64)) {}

  void add(int64_t row) { words_[static_cast<size_t>(row / 64)] |= uint64_t{1} << (row % 64); }
  bool contains(int64_t row) const {
    return (words_[static_cast<size_t>(row / 64)] >> (row % 64) & 1) != 0;
  }
  // To be called when all rows have been added, before count() and row().
  void finish();

  int64_t count() const { return count_; }
  // The row with this number among those that were added, in their order.
  int64_t row(int64_t number) const;
  // Those that were not added; finished.
  RowSubset rest() const;
  size_t bytes() const { return words_.capacity() * 8 + before_.capacity() * 8; }

 private:
  static constexpr size_t kStride = 8;  // Words between two counts.

  int64_t size_;
  int64_t count_ = 0;
  std::vector<uint64_t> words_;
  std::vector<int64_t> before_;  // Rows before every kStride-th word.
};

namespace data {

// These rows of a source with random access, in their order; messages name them as the source does.
// Where the source has another order in each pass, it keeps that of the first: see pinned().
SourcePtr subset(SourcePtr source, RowSubset rows);

}  // namespace data
}  // namespace snug

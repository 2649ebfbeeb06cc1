// A shuffle that reads rows in stretches, for disks that are slow at single rows.
#pragma once

#include "snug/data/permutation.h"
#include "snug/data/source.h"

namespace snug {

struct BlockShuffleOptions {
  uint64_t seed = 0;
  bool reshuffle_each_iteration = true;
  // For the rows of two windows: those that are handed out, and those that come next. Counted as in
  // a batch: int64 takes twice of it.
  int64_t window_bytes = int64_t{32} << 20;
  int64_t block_bytes = int64_t{256} << 10;  // What is read in one request.
};

// Which row stands at a position: blocks of neighbouring rows are permuted, so many of them form a
// window, and the rows of a window are permuted. Depends on (seed, epoch) only and holds nothing.
class BlockOrder {
 public:
  BlockOrder(int64_t rows, int64_t block_rows, int64_t window_blocks, uint64_t seed,
             uint64_t epoch);

  struct Place {
    int64_t window = 0;
    int64_t turn = 0;   // Of the block in the window.
    int64_t block = 0;  // The rows from block * block_rows on.
    int64_t row = 0;
  };
  Place place(int64_t position) const;

  int64_t windows() const { return (blocks_ + window_blocks_ - 1) / window_blocks_; }
  // The blocks of a window, in the order in which they are read, and their rows.
  int64_t blocks_of(int64_t window) const;
  int64_t block_at(int64_t window, int64_t turn) const;
  int64_t rows_of_block(int64_t block) const;

 private:
  int64_t start_of(int64_t turn) const;  // The position of the first row of the turn-th block.

  int64_t rows_, block_rows_, window_blocks_, blocks_;
  Permutation order_;
  int64_t short_turn_;  // Where the last block stands, which may have fewer rows.
  uint64_t seed_, epoch_;
};

namespace data {

// The rows of a source with random access, each pass in another order where the options say so. Row
// numbers here are positions of the pass. Reading them in order takes one request a block, and the
// blocks of the next window are read little by little while a window is handed out; any other order
// is possible and slow. What it holds is within window_bytes, but for int64.
SourcePtr block_shuffled(SourcePtr source, const BlockShuffleOptions& options);

}  // namespace data
}  // namespace snug

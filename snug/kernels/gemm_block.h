// A rectangle of a matrix product on one thread: the cache blocking under Gemm.
#pragma once

#include <cstdint>

#include "snug/kernels/gemm.h"

namespace snug {

// k is cut into even blocks of at most this depth. Within a block an element of C is one chain of
// multiply-adds in the order of k, the blocks are added in order. Every route through the code
// keeps to this, which is why rows, threads and packing do not change bits. Only n == 1 with A as
// stored takes dot products instead.
constexpr int64_t kGemmDepth = 384;

inline int64_t gemm_depth_blocks(int64_t k) {
  return k <= kGemmDepth ? 1 : (k + kGemmDepth - 1) / kGemmDepth;
}
inline int64_t gemm_depth_begin(int64_t k, int64_t block) {
  return k * block / gemm_depth_blocks(k);
}
inline bool gemm_takes_dots(const GemmShape& shape) { return shape.n == 1 && !shape.transpose_a; }
inline bool gemm_column_is_contiguous(const GemmShape& shape) {
  return shape.transpose_b || shape.ldb == 1;
}

// The rows and columns of C that the inner loop of the chosen instruction set holds in registers.
struct GemmTile {
  int64_t rows, columns;
};
GemmTile gemm_tile();

// A few columns, no wider than a tile and no more than it has rows, and a transposed A are computed
// as C^T = B^T A, with full vectors along m.
inline bool gemm_swaps(const GemmShape& shape) {
  const GemmTile tile = gemm_tile();
  return shape.transpose_a && shape.n <= tile.rows && shape.n <= tile.columns;
}

// One call: rows [row_begin, row_end) and columns [column_begin, column_end) of C, over the blocks
// [block_begin, block_end) of k. Column borders inside C are multiples of the tile's columns.
struct GemmBlock {
  int64_t row_begin, row_end, column_begin, column_end;
  int64_t block_begin, block_end;
};

void gemm_block(const GemmShape& shape, const Gemm::Arguments& arguments, const GemmBlock& block,
                float* scratch) noexcept;

// Enough for gemm_block on any rectangle of at most rows x columns of this shape.
int64_t gemm_block_scratch_floats(const GemmShape& shape, Gemm::Operand b, int64_t rows,
                                  int64_t columns);

// Rows [first, first + rows) of B, which `b` holds alone, into their places in the packed B: block
// of k by block, within it panels of the tile's width, zeros behind n.
void gemm_pack(const GemmShape& shape, const float* b, int64_t first, int64_t rows,
               float* packed) noexcept;

}  // namespace snug

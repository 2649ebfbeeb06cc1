#include "snug/kernels/gemm_block.h"

#include "snug/kernels/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "snug/kernels/gemm_block.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

#include <utility>

#include "snug/kernels/gemm_narrow-inl.h"
#include "snug/kernels/gemm_pack-inl.h"
#include "snug/kernels/gemm_tile-inl.h"

#ifndef SNUG_KERNELS_GEMM_BLOCK_ONCE_
#define SNUG_KERNELS_GEMM_BLOCK_ONCE_
namespace snug {

constexpr int64_t kBlockRows = 96;      // of A: with kGemmDepth a part of L2
constexpr int64_t kBlockColumns = 512;  // of B
constexpr int64_t kL1Floats = 8 * 1024;

inline int64_t blocks_of(int64_t size, int64_t most) { return (size + most - 1) / most; }
inline int64_t round_up(int64_t size, int64_t step) { return blocks_of(size, step) * step; }

// A column of a wide transposed A is on a page of its own, so its rows are packed when enough
// columns of C share the cost.
inline bool packs_a(const GemmShape& shape, int64_t columns) {
  return shape.transpose_a && columns > 128 &&
         shape.lda * std::min(shape.k, kGemmDepth) > kL1Floats;
}

// B is read where it stands if few rows share it, or if it stays in L1 as it is.
inline bool packs_b(const GemmShape& shape, int64_t rows) {
  if (shape.transpose_b) return true;
  return rows > 16 && shape.ldb * std::min(shape.k, kGemmDepth) > kL1Floats;
}

}  // namespace snug
#endif

HWY_BEFORE_NAMESPACE();
namespace snug::HWY_NAMESPACE {

GemmTile TileSize() { return {kTileRows, kTileColumns}; }

void PackSome(const GemmShape& shape, const float* b, int64_t first, int64_t rows, float* packed) {
  for (int64_t block = 0; block < gemm_depth_blocks(shape.k); ++block) {
    const int64_t depth = gemm_depth_begin(shape.k, block);
    const int64_t depth_end = gemm_depth_begin(shape.k, block + 1);
    const int64_t begin = std::max(first, depth), end = std::min(first + rows, depth_end);
    if (begin >= end) continue;
    float* panels = packed + depth * round_up(shape.n, kTileColumns);
    PackB(shape, b, begin - first, end - begin, 0, shape.n, panels + (begin - depth) * kTileColumns,
          (depth_end - depth) * kTileColumns);
  }
}

// The columns [begin, end) of one block of k, ready for the inner loop.
struct Panels {
  const float* base;
  int64_t panel_stride;  // from one tile's columns to the next
  int64_t row_stride;
  const float* tail;  // the packed last columns if the others stand in B itself
};

struct Walk {
  const GemmShape& shape;
  const Gemm::Arguments& arguments;
  const GemmBlock& block;
  bool pack_a, pack_b;
  float* a_scratch;
  float* b_scratch;
  int64_t depth, k;  // of the current block
  bool add, last;
  TileNotes notes = {};  // of the rows that are in work

  TileNotes* notes_now() { return last && arguments.notes != nullptr ? &notes : nullptr; }
};

HWY_INLINE Panels PrepareB(const Walk& walk, int64_t begin, int64_t end) {
  const GemmShape& shape = walk.shape;
  const int64_t panel = walk.k * kTileColumns;
  if (const void* packed = walk.arguments.packed_b) {
    const float* base = static_cast<const float*>(packed) +
                        walk.depth * round_up(shape.n, kTileColumns) + begin / kTileColumns * panel;
    return {base, panel, kTileColumns, nullptr};
  }
  const float* b = walk.arguments.b;
  if (walk.pack_b) {
    PackB(shape, b, walk.depth, walk.k, begin, end, walk.b_scratch, panel);
    return {walk.b_scratch, panel, kTileColumns, nullptr};
  }
  const int64_t tail = (end - begin) % kTileColumns;
  if (tail % kLanes != 0) {
    PackB(shape, b, walk.depth, walk.k, end - tail, end, walk.b_scratch, panel);
  }
  return {b + walk.depth * shape.ldb + begin, kTileColumns, shape.ldb,
          tail % kLanes != 0 ? walk.b_scratch : nullptr};
}

// Rows [begin, end) of the current block of k, with the columns that `panels` holds.
HWY_INLINE void RowBlock(Walk& walk, const Panels& panels, int64_t begin, int64_t end,
                         int64_t first_column, int64_t last_column) {
  const GemmShape& shape = walk.shape;
  const float* a = walk.arguments.a;
  const int64_t rows = end - begin;
  const RowTiles tiles(rows);
  if (walk.pack_a) {
    PackTransposedA(a + walk.depth * shape.lda + begin, shape.lda, tiles, walk.k, walk.a_scratch);
  }
  const float* bias = walk.last ? walk.arguments.bias : nullptr;
  const bool wide = rows <= 3 && panels.panel_stride == kTileColumns;
  for (int64_t j = first_column; j < last_column;) {
    const int64_t left = last_column - j;
    const int64_t vectors = wide && left >= 4 * kLanes ? 4 : left > kLanes ? 2 : 1;
    const int64_t width = std::min(left, vectors * kLanes);
    const bool in_tail = panels.tail != nullptr && left < kTileColumns;
    TileInput in{.b = in_tail
                          ? panels.tail
                          : panels.base + (j - first_column) / kTileColumns * panels.panel_stride,
                 .b_stride = in_tail ? kTileColumns : panels.row_stride,
                 .k = walk.k};
    TileOutput out{.row_stride = shape.ldc,
                   .column_stride = 1,
                   .bias = bias ? bias + j : nullptr,
                   .bias_row_stride = 0,
                   .bias_column_stride = 1,
                   .add = walk.add,
                   .columns = width,
                   .notes = walk.notes_now()};
    for (int64_t t = 0; t < tiles.count; ++t) {
      const int64_t i = tiles.begin(t), height = tiles.height(t);
      out.c = walk.arguments.c + (begin + i) * shape.ldc + j;
      if (walk.pack_a) {
        in.a = walk.a_scratch + i * walk.k, in.a_stride = height;
      } else {
        in.a = shape.transpose_a ? a + walk.depth * shape.lda + begin + i
                                 : a + (begin + i) * shape.lda + walk.depth;
        in.a_stride = shape.lda;
      }
      (shape.transpose_a ? TileOf<true>(height, vectors) : TileOf<false>(height, vectors))(in, out);
    }
    j += width;
  }
}

HWY_INLINE void Rectangle(Walk& walk) {
  const GemmBlock& block = walk.block;
  const int64_t rows = block.row_end - block.row_begin;
  const int64_t row_blocks = blocks_of(rows, kBlockRows);
  for (int64_t b = block.block_begin; b < block.block_end; ++b) {
    walk.depth = gemm_depth_begin(walk.shape.k, b);
    walk.k = gemm_depth_begin(walk.shape.k, b + 1) - walk.depth;
    walk.add = walk.arguments.accumulate || b > block.block_begin;
    walk.last = b + 1 == block.block_end;
    for (int64_t j = block.column_begin; j < block.column_end; j += kBlockColumns) {
      const int64_t end = std::min(block.column_end, j + kBlockColumns);
      const Panels panels = PrepareB(walk, j, end);
      for (int64_t r = 0; r < row_blocks; ++r) {
        RowBlock(walk, panels, block.row_begin + rows * r / row_blocks,
                 block.row_begin + rows * (r + 1) / row_blocks, j, end);
        if (walk.notes_now() != nullptr) AddNotes(walk.notes, *walk.arguments.notes);
      }
    }
  }
}

void Run(const GemmShape& shape, const Gemm::Arguments& arguments, const GemmBlock& block,
         float* scratch) {
  if (gemm_takes_dots(shape)) return Dots(shape, arguments, block, scratch);
  if (gemm_swaps(shape)) return Swapped(shape, arguments, block, scratch);
  const int64_t rows = block.row_end - block.row_begin;
  const int64_t columns = block.column_end - block.column_begin;
  Walk walk{.shape = shape,
            .arguments = arguments,
            .block = block,
            .pack_a = packs_a(shape, columns),
            .pack_b = packs_b(shape, rows),
            .a_scratch = scratch,
            .b_scratch = scratch};
  if (walk.pack_a) {
    walk.b_scratch += round_up(std::min(rows, kBlockRows) * std::min(shape.k, kGemmDepth), 16);
  }
  Rectangle(walk);
}

}  // namespace snug::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace snug {

HWY_EXPORT(TileSize);
HWY_EXPORT(PackSome);
HWY_EXPORT(Run);

GemmTile gemm_tile() { return HWY_DYNAMIC_DISPATCH(TileSize)(); }

void gemm_pack(const GemmShape& shape, const float* b, int64_t first, int64_t rows,
               float* packed) noexcept {
  if (!gemm_takes_dots(shape)) {
    HWY_DYNAMIC_DISPATCH(PackSome)(shape, b, first, rows, packed);
    return;
  }
  const int64_t stride = shape.transpose_b ? 1 : shape.ldb;
  for (int64_t p = 0; p < rows; ++p) packed[first + p] = b[p * stride];
}

void gemm_block(const GemmShape& shape, const Gemm::Arguments& arguments, const GemmBlock& block,
                float* scratch) noexcept {
  HWY_DYNAMIC_DISPATCH(Run)(shape, arguments, block, scratch);
}

int64_t gemm_block_scratch_floats(const GemmShape& shape, Gemm::Operand operand, int64_t rows,
                                  int64_t columns) {
  const int64_t width = gemm_tile().columns, k = std::min(shape.k, kGemmDepth);
  const bool plain = operand == Gemm::Operand::plain;
  if (gemm_takes_dots(shape)) return plain && !gemm_column_is_contiguous(shape) ? shape.k : 0;
  if (gemm_swaps(shape)) return k * width;
  const int64_t a = packs_a(shape, columns) ? round_up(std::min(rows, kBlockRows) * k, 16) : 0;
  const int64_t b =
      packs_b(shape, rows) ? round_up(std::min(columns, kBlockColumns), width) : width;
  return a + (plain ? k * b : 0);
}

}  // namespace snug
#endif

// Products with one or a few columns, which run at the speed of reading A. Included once for each
// target.

#if defined(SNUG_KERNELS_GEMM_NARROW_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SNUG_KERNELS_GEMM_NARROW_INL_H_
#undef SNUG_KERNELS_GEMM_NARROW_INL_H_
#else
#define SNUG_KERNELS_GEMM_NARROW_INL_H_
#endif

#include "snug/kernels/gemm_block.h"
#include "snug/kernels/gemm_pack-inl.h"

HWY_BEFORE_NAMESPACE();
namespace snug::HWY_NAMESPACE {

// sums[i] = A[i,:] b. Two chains a row; the odd end of k is added last, one by one.
template <int kRows>
HWY_INLINE void DotRows(const float* HWY_RESTRICT a, int64_t lda, const float* HWY_RESTRICT b,
                        int64_t k, float* sums) {
  const D d;
  const hn::CappedTag<float, 1> one;
  V even[kRows], odd[kRows];
#pragma GCC unroll 4
  for (int i = 0; i < kRows; ++i) even[i] = odd[i] = hn::Zero(d);
  int64_t p = 0;
  for (; p + 2 * kLanes <= k; p += 2 * kLanes) {
    const V b0 = hn::LoadU(d, b + p), b1 = hn::LoadU(d, b + p + kLanes);
#pragma GCC unroll 4
    for (int i = 0; i < kRows; ++i) {
      even[i] = hn::MulAdd(hn::LoadU(d, a + i * lda + p), b0, even[i]);
      odd[i] = hn::MulAdd(hn::LoadU(d, a + i * lda + p + kLanes), b1, odd[i]);
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < kRows; ++i) {
    auto sum = hn::Set(one, hn::GetLane(hn::SumOfLanes(d, hn::Add(even[i], odd[i]))));
    for (int64_t q = p; q < k; ++q) {
      sum = hn::MulAdd(hn::Set(one, a[i * lda + q]), hn::Set(one, b[q]), sum);
    }
    sums[i] = hn::GetLane(sum);
  }
}

// C[i] = sum (+ C[i]) (+ bias) for the rows of the block.
HWY_INLINE void Dots(const GemmShape& shape, const Gemm::Arguments& arguments,
                     const GemmBlock& block, float* scratch) {
  const float* b = arguments.packed_b ? static_cast<const float*>(arguments.packed_b) : arguments.b;
  if (b == arguments.b && !gemm_column_is_contiguous(shape)) {
    for (int64_t p = 0; p < shape.k; ++p) scratch[p] = b[p * shape.ldb];
    b = scratch;
  }
  for (int64_t i = block.row_begin; i < block.row_end;) {
    const float* a = arguments.a + i * shape.lda;
    const int64_t rows = std::min<int64_t>(4, block.row_end - i) == 4 ? 4 : 1;
    float sums[4];
    rows == 4 ? DotRows<4>(a, shape.lda, b, shape.k, sums)
              : DotRows<1>(a, shape.lda, b, shape.k, sums);
    for (int64_t r = 0; r < rows; ++r) {
      float& c = arguments.c[(i + r) * shape.ldc];
      float value = arguments.accumulate ? c + sums[r] : sums[r];
      if (arguments.bias) value += arguments.bias[0];
      c = value;
    }
    i += rows;
  }
}

// Sums of many tiles are kept in double.
HWY_INLINE void AddNotes(TileNotes& notes, NotedMagnitude& sum) {
  for (int lane = 0; lane < kLanes; ++lane) {
    sum.sum_squares += notes.squares[lane];
    sum.largest_bits = HWY_MAX(sum.largest_bits, notes.bits[lane]);
  }
  notes = {};
}

// B's columns as the few rows of C^T = B^T A: element (j, p) in the terms of TileInput.
struct FewRows {
  const float* base;
  int64_t stride;
  bool columns_contiguous;
};

HWY_INLINE FewRows RowsOfB(const GemmShape& shape, const Gemm::Arguments& arguments,
                           int64_t depth) {
  if (const void* packed = arguments.packed_b) {
    return {static_cast<const float*>(packed) + depth * kTileColumns, kTileColumns, true};
  }
  if (shape.transpose_b) return {arguments.b + depth, shape.ldb, false};
  return {arguments.b + depth * shape.ldb, shape.ldb, true};
}

// One block of k of C^T = B^T A: the vectors run along the rows of the stored A.
HWY_INLINE void SwappedDepth(const GemmShape& shape, const FewRows& few, TileOutput out, float* c,
                             const float* a, int64_t columns, int64_t k, float* scratch) {
  const GemmShape stored{.ldb = shape.lda};
  for (int64_t j = 0; j < columns;) {
    const int64_t left = columns - j;
    const int64_t vectors = shape.n <= 3 && left >= 4 * kLanes ? 4 : left > kLanes ? 2 : 1;
    out.columns = std::min(left, vectors * kLanes);
    out.c = c + j * shape.ldc;
    TileInput in{few.base, few.stride, a + j, shape.lda, k};
    if (out.columns < vectors * kLanes) {
      PackB(stored, a + j, 0, k, 0, left, scratch, 0);
      in.b = scratch, in.b_stride = kTileColumns;
    }
    (few.columns_contiguous ? TileOf<true>(shape.n, vectors) : TileOf<false>(shape.n, vectors))(
        in, out);
    j += out.columns;
  }
}

HWY_INLINE void Swapped(const GemmShape& shape, const Gemm::Arguments& arguments,
                        const GemmBlock& block, float* scratch) {
  constexpr int64_t kStretch = 64 * kTileColumns;
  TileNotes notes;
  NotedMagnitude* sum = arguments.notes;
  for (int64_t b = block.block_begin; b < block.block_end; ++b) {
    const int64_t depth = gemm_depth_begin(shape.k, b);
    const bool last = b + 1 == block.block_end;
    const TileOutput out{.row_stride = 1,
                         .column_stride = shape.ldc,
                         .bias = last ? arguments.bias : nullptr,
                         .bias_row_stride = 1,
                         .bias_column_stride = 0,
                         .add = arguments.accumulate || b > block.block_begin,
                         .notes = last && sum != nullptr ? &notes : nullptr};
    // In stretches: sums of many tiles are kept in double.
    for (int64_t begin = block.row_begin; begin < block.row_end; begin += kStretch) {
      const int64_t columns = std::min(kStretch, block.row_end - begin);
      SwappedDepth(shape, RowsOfB(shape, arguments, depth), out, arguments.c + begin * shape.ldc,
                   arguments.a + depth * shape.lda + begin, columns,
                   gemm_depth_begin(shape.k, b + 1) - depth, scratch);
      if (out.notes != nullptr) AddNotes(notes, *sum);
    }
  }
}

}  // namespace snug::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // SNUG_KERNELS_GEMM_NARROW_INL_H_

// Copies of A and B in the order in which the inner loop reads them. Included once for each target.

#if defined(SNUG_KERNELS_GEMM_PACK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SNUG_KERNELS_GEMM_PACK_INL_H_
#undef SNUG_KERNELS_GEMM_PACK_INL_H_
#else
#define SNUG_KERNELS_GEMM_PACK_INL_H_
#endif

#include <algorithm>
#include <cstring>

#include "snug/kernels/gemm_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace snug::HWY_NAMESPACE {

// A [columns, k] piece with rows `stride` apart becomes a [k, kTileColumns] panel.
HWY_INLINE void PackTransposed(const float* b, int64_t stride, int64_t columns, int64_t k,
                               float* panel) {
  for (int64_t j = 0; j < columns; j += 4) {
    const int64_t width = std::min<int64_t>(4, columns - j);
    const float* from = b + j * stride;
    int64_t p = 0;
    if (width == 4) {
      for (; p + 4 <= k; p += 4) {
        Transpose4(from + p, stride, panel + p * kTileColumns + j, kTileColumns);
      }
    }
    for (; p < k; ++p) {
      for (int64_t i = 0; i < width; ++i) panel[p * kTileColumns + j + i] = from[i * stride + p];
    }
  }
}

HWY_INLINE void PackRows(const float* b, int64_t stride, int64_t columns, int64_t k, float* panel) {
  const D d;
  if (columns == kTileColumns) {
    for (int64_t p = 0; p < k; ++p, b += stride, panel += kTileColumns) {
      hn::StoreU(hn::LoadU(d, b), d, panel);
      hn::StoreU(hn::LoadU(d, b + kLanes), d, panel + kLanes);
    }
    return;
  }
  for (int64_t p = 0; p < k; ++p, b += stride, panel += kTileColumns) {
    for (int64_t j = 0; j < columns; ++j) panel[j] = b[j];
  }
}

// Columns [begin, end) and rows [depth, depth + k) of B as panels, `panel_stride` floats from one
// to the next; the columns that the last one lacks are zeros.
HWY_INLINE void PackB(const GemmShape& shape, const float* b, int64_t depth, int64_t k,
                      int64_t begin, int64_t end, float* panel, int64_t panel_stride) {
  for (int64_t j = begin; j < end; j += kTileColumns, panel += panel_stride) {
    const int64_t columns = std::min<int64_t>(kTileColumns, end - j);
    if (columns < kTileColumns) std::memset(panel, 0, sizeof(float) * k * kTileColumns);
    if (shape.transpose_b) {
      PackTransposed(b + j * shape.ldb + depth, shape.ldb, columns, k, panel);
    } else {
      PackRows(b + depth * shape.ldb + j, shape.ldb, columns, k, panel);
    }
  }
}

// Rows cut into tiles whose heights differ by at most one.
struct RowTiles {
  explicit RowTiles(int64_t rows)
      : count((rows + kTileRows - 1) / kTileRows), least(rows / count), taller(rows % count) {}
  int64_t begin(int64_t t) const { return t * least + std::min(t, taller); }
  int64_t height(int64_t t) const { return least + (t < taller); }
  int64_t count, least, taller;
};

template <int kHeight>
HWY_INLINE void CopyColumns(const float* a, int64_t stride, int64_t k, float* to) {
  for (int64_t p = 0; p < k; ++p) std::memcpy(to + p * kHeight, a + p * stride, 4 * kHeight);
}

// The rows of a transposed A: for each tile its k columns one after the other. A few columns at a
// time, as the tiles of a column share its lines.
HWY_INLINE void PackTransposedA(const float* a, int64_t stride, const RowTiles& tiles, int64_t k,
                                float* to) {
  constexpr int64_t kTogether = 8;
  for (int64_t p = 0; p < k; p += kTogether) {
    const int64_t columns = std::min(kTogether, k - p);
    for (int64_t t = 0; t < tiles.count; ++t) {
      const int64_t height = tiles.height(t);
      const float* from = a + p * stride + tiles.begin(t);
      float* column = to + tiles.begin(t) * k + p * height;
      if (height == kTileRows) {
        CopyColumns<kTileRows>(from, stride, columns, column);
      } else if (height == kTileRows - 1) {
        CopyColumns<kTileRows - 1>(from, stride, columns, column);
      } else {
        for (int64_t q = 0; q < columns; ++q) {
          std::copy_n(from + q * stride, height, column + q * height);
        }
      }
    }
  }
}

}  // namespace snug::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // SNUG_KERNELS_GEMM_PACK_INL_H_

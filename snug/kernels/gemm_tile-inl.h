// The inner loop: a tile of C stays in registers while k runs. Included once for each target.

#if defined(SNUG_KERNELS_GEMM_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SNUG_KERNELS_GEMM_TILE_INL_H_
#undef SNUG_KERNELS_GEMM_TILE_INL_H_
#else
#define SNUG_KERNELS_GEMM_TILE_INL_H_
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace snug::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
constexpr int kLanes = static_cast<int>(HWY_LANES(float));

// 16 registers hold 6 x 2 vectors of C, two of B and one of A; 32 hold 12 x 2.
#if HWY_TARGET == HWY_AVX3
constexpr int kTileRows = 12;
#else
constexpr int kTileRows = 6;
#endif
constexpr int kTileColumns = 2 * kLanes;

// Where a tile goes. For a transposed result column_stride is not 1 and the bias runs down rows.
struct TileOutput {
  float* c;
  int64_t row_stride, column_stride;
  const float* bias;  // or null
  int64_t bias_row_stride, bias_column_stride;
  bool add;         // to what C holds
  int64_t columns;  // of the tile that exist
};

// The operands of a tile: A's element (i, p) is a[i * row + p * column] where one of the two
// strides is 1, B's vector v of row p is at b[p * b_stride + v * kLanes]. k may go on in further
// segments, each of this length and so far from the one before.
struct TileInput {
  const float* a;
  int64_t a_stride;  // the stride that is not 1
  const float* b;
  int64_t b_stride;
  int64_t k;
  int64_t segments = 1, a_segment = 0, b_segment = 0;
};

template <int kRows, int kVectors>
HWY_INLINE void StoreEdge(const V (&sum)[kRows][kVectors], const TileOutput& out) {
  const D d;
  HWY_ALIGN float buffer[kRows * kVectors * kLanes];
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      hn::Store(sum[i][v], d, buffer + (i * kVectors + v) * kLanes);
    }
  }
  const int64_t columns = out.columns < kVectors * kLanes ? out.columns : kVectors * kLanes;
  for (int i = 0; i < kRows; ++i) {
    const float* from = buffer + i * kVectors * kLanes;
    float* to = out.c + i * out.row_stride;
    const float* bias = out.bias ? out.bias + i * out.bias_row_stride : nullptr;
    for (int64_t j = 0; j < columns; ++j) {
      float value = from[j];
      if (out.add) value = to[j * out.column_stride] + value;
      if (bias) value += bias[j * out.bias_column_stride];
      to[j * out.column_stride] = value;
    }
  }
}

template <int kRows, int kVectors>
HWY_INLINE void StoreFull(V (&sum)[kRows][kVectors], const TileOutput& out) {
  const D d;
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) {
    float* c = out.c + v * kLanes;
    if (out.add) {
#pragma GCC unroll 16
      for (int i = 0; i < kRows; ++i) {
        sum[i][v] = hn::Add(hn::LoadU(d, c + i * out.row_stride), sum[i][v]);
      }
    }
    if (out.bias) {
      const V bias = hn::LoadU(d, out.bias + v * kLanes);
#pragma GCC unroll 16
      for (int i = 0; i < kRows; ++i) sum[i][v] = hn::Add(sum[i][v], bias);
    }
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) hn::StoreU(sum[i][v], d, c + i * out.row_stride);
  }
}

// kColumnsOfA: a column of A is contiguous (packed or transposed), otherwise a row is.
template <int kRows, int kVectors, bool kColumnsOfA>
void Tile(const TileInput& in, const TileOutput& out) {
  const D d;
  V sum[kRows][kVectors];
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) sum[i][v] = hn::Zero(d);
  }
  // C is far away as a rule, and needed only at the end.
  if (in.k * in.segments >= 32) {
#pragma GCC unroll 16
    for (int i = 0; i < kRows; ++i) {
      hwy::Prefetch(out.c + i * out.row_stride);
      hwy::Prefetch(out.c + i * out.row_stride + kVectors * kLanes - 1);
    }
  }
  const int64_t a_row = kColumnsOfA ? 1 : in.a_stride;
  const int64_t a_column = kColumnsOfA ? in.a_stride : 1;
  for (int64_t s = 0; s < in.segments; ++s) {
    const float* HWY_RESTRICT a = in.a + s * in.a_segment;
    const float* HWY_RESTRICT b = in.b + s * in.b_segment;
    for (int64_t p = 0; p < in.k; ++p) {
      V row[kVectors];
#pragma GCC unroll 8
      for (int v = 0; v < kVectors; ++v) row[v] = hn::LoadU(d, b + v * kLanes);
#pragma GCC unroll 16
      for (int i = 0; i < kRows; ++i) {
        const V factor = hn::Set(d, a[i * a_row]);
#pragma GCC unroll 8
        for (int v = 0; v < kVectors; ++v) sum[i][v] = hn::MulAdd(factor, row[v], sum[i][v]);
      }
      a += a_column;
      b += in.b_stride;
    }
  }
  const bool full = out.columns == kVectors * kLanes && out.column_stride == 1 &&
                    (out.bias == nullptr || out.bias_column_stride == 1);
  full ? StoreFull(sum, out) : StoreEdge(sum, out);
}

using TileFunction = void (*)(const TileInput&, const TileOutput&);

template <int kVectors, bool kColumnsOfA, int... kRows>
HWY_INLINE TileFunction TileOf(int64_t rows, std::integer_sequence<int, kRows...>) {
  static constexpr TileFunction kTiles[] = {&Tile<kRows + 1, kVectors, kColumnsOfA>...};
  return kTiles[rows - 1];
}

template <bool kColumnsOfA>
HWY_INLINE TileFunction TileOf(int64_t rows, int64_t vectors) {
  if (vectors == 1)
    return TileOf<1, kColumnsOfA>(rows, std::make_integer_sequence<int, kTileRows>());
  if (vectors == 2)
    return TileOf<2, kColumnsOfA>(rows, std::make_integer_sequence<int, kTileRows>());
  return TileOf<4, kColumnsOfA>(rows, std::make_integer_sequence<int, 3>());
}

}  // namespace snug::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // SNUG_KERNELS_GEMM_TILE_INL_H_

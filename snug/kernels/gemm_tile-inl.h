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

// Magnitudes of the tiles of a block, lane by lane.
struct TileNotes {
  HWY_ALIGN float squares[kLanes] = {};
  HWY_ALIGN uint32_t bits[kLanes] = {};
};

// Where a tile goes. For a transposed result column_stride is not 1 and the bias runs down rows.
struct TileOutput {
  float* c;
  int64_t row_stride, column_stride;
  const float* bias;  // or null
  int64_t bias_row_stride, bias_column_stride;
  bool add;         // to what C holds
  int64_t columns;  // of the tile that exist
  TileNotes* notes = nullptr;
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

// Four chains of sums: a multiply-add takes four cycles to be ready for the next one.
template <int kRows, int kVectors>
HWY_INLINE void Note(const V (&sum)[kRows][kVectors], TileNotes& notes) {
  const D d;
  const hn::RebindToUnsigned<D> du;
  V squares[4] = {hn::Load(d, notes.squares), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
  auto bits = hn::Load(du, notes.bits);
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      V& chain = squares[(i * kVectors + v) % 4];
      chain = hn::MulAdd(sum[i][v], sum[i][v], chain);
      bits = hn::Max(bits, hn::BitCast(du, hn::Abs(sum[i][v])));
    }
  }
  hn::Store(hn::Add(hn::Add(squares[0], squares[1]), hn::Add(squares[2], squares[3])), d,
            notes.squares);
  hn::Store(bits, du, notes.bits);
}

// to[p * to_stride + j] = from[j * stride + p] for 4 values of j and of p.
HWY_INLINE void Transpose4(const float* from, int64_t stride, float* to, int64_t to_stride) {
#if HWY_TARGET == HWY_SCALAR
  for (int p = 0; p < 4; ++p) {
    for (int j = 0; j < 4; ++j) to[p * to_stride + j] = from[j * stride + p];
  }
#else
  const hn::FixedTag<float, 4> d;
  const hn::Repartition<double, decltype(d)> pairs;
  const auto a = hn::LoadU(d, from), b = hn::LoadU(d, from + stride);
  const auto c = hn::LoadU(d, from + 2 * stride), e = hn::LoadU(d, from + 3 * stride);
  const auto ab = hn::BitCast(pairs, hn::InterleaveLower(d, a, b));
  const auto ce = hn::BitCast(pairs, hn::InterleaveLower(d, c, e));
  const auto ab_upper = hn::BitCast(pairs, hn::InterleaveUpper(d, a, b));
  const auto ce_upper = hn::BitCast(pairs, hn::InterleaveUpper(d, c, e));
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, ab, ce)), d, to);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, ab, ce)), d, to + to_stride);
  hn::StoreU(hn::BitCast(d, hn::InterleaveLower(pairs, ab_upper, ce_upper)), d, to + 2 * to_stride);
  hn::StoreU(hn::BitCast(d, hn::InterleaveUpper(pairs, ab_upper, ce_upper)), d, to + 3 * to_stride);
#endif
}

// The tile's rows, `width` floats apart, as columns of C whose elements stand side by side.
template <int kRows>
HWY_INLINE void StoreTransposed(const float* rows, int64_t width, const TileOutput& out) {
  constexpr int kFours = kRows / 4 * 4;
  const int64_t step = out.column_stride, together = out.columns / 4 * 4;
  for (int64_t j = 0; j < together; j += 4) {
    float* to = out.c + j * step;
#pragma GCC unroll 4
    for (int i = 0; i < kFours; i += 4) Transpose4(rows + i * width + j, width, to + i, step);
#pragma GCC unroll 4
    for (int p = 0; p < 4; ++p) {
#pragma GCC unroll 4
      for (int i = kFours; i < kRows; ++i) to[p * step + i] = rows[i * width + j + p];
    }
  }
  for (int64_t j = together; j < out.columns; ++j) {
    for (int i = 0; i < kRows; ++i) out.c[j * step + i] = rows[i * width + j];
  }
}

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
  if (out.row_stride == 1 && !out.add && out.bias == nullptr) {
    StoreTransposed<kRows>(buffer, kVectors * kLanes, out);
    if (out.notes != nullptr) Note(sum, *out.notes);  // Columns that do not exist are zeros.
    return;
  }
  const int64_t columns = out.columns < kVectors * kLanes ? out.columns : kVectors * kLanes;
#if HWY_TARGET <= HWY_AVX3
  // Masked stores, where the CPU has them; then nothing of a row is touched one by one.
  const bool is_plain = out.column_stride == 1 && !out.add && out.bias == nullptr;
  for (int i = 0; i < kRows && is_plain; ++i) {
    for (int v = 0; v < kVectors && v * kLanes < columns; ++v) {
      const auto inside = hn::FirstN(d, columns - v * kLanes);
      hn::BlendedStore(sum[i][v], inside, d, out.c + i * out.row_stride + v * kLanes);
    }
  }
  const int scalar_rows = is_plain ? 0 : kRows;
#else
  constexpr int scalar_rows = kRows;
#endif
  for (int i = 0; i < scalar_rows; ++i) {
    float* from = buffer + i * kVectors * kLanes;
    float* to = out.c + i * out.row_stride;
    const float* bias = out.bias ? out.bias + i * out.bias_row_stride : nullptr;
    for (int64_t j = 0; j < columns; ++j) {
      float value = from[j];
      if (out.add) value = to[j * out.column_stride] + value;
      if (bias) value += bias[j * out.bias_column_stride];
      to[j * out.column_stride] = value;
      if (out.notes != nullptr) from[j] = value;
    }
  }
  if (out.notes == nullptr) return;
  V stored[kRows][kVectors];
#pragma GCC unroll 16
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 8
    for (int v = 0; v < kVectors; ++v) {
      const auto inside = hn::FirstN(d, HWY_MAX(columns - v * kLanes, int64_t{0}));
      stored[i][v] = hn::IfThenElseZero(inside, hn::Load(d, buffer + (i * kVectors + v) * kLanes));
    }
  }
  Note(stored, *out.notes);
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
  if (out.notes != nullptr) Note(sum, *out.notes);
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

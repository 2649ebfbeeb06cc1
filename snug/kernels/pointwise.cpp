#include "snug/kernels/pointwise.h"

#include <algorithm>
#include <utility>

#include "snug/kernels/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "snug/kernels/pointwise.cpp"
#include "hwy/foreach_target.h"  // Compiles what follows once for each instruction set.
#include "snug/kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace snug::kernels::HWY_NAMESPACE {

// 8 x 3 vectors of the result are in registers, 3 of the weights and one of x.
constexpr int kTileRows = 8, kTileVectors = 3;
// So many weights stay in the second cache.
constexpr int64_t kCachedWeights = 64 * 1024;
// From the rows in work to those that are called for.
constexpr int64_t kTilesAhead = 2;

bool serves(int64_t columns) { return HWY_TARGET <= HWY_AVX3 && columns % kLanes == 0; }

struct Tile {
  const float *x, *weights, *bias;
  float* y;
  int64_t depth, columns;
  int64_t ahead = 0;  // floats from y to what is written later
};

template <int kRows, int kVectors>
void run_tile(const Tile& t) {
  const float *HWY_RESTRICT x = t.x, *HWY_RESTRICT weights = t.weights;
  float* const y = t.y;
  const int64_t depth = t.depth, columns = t.columns, ahead = t.ahead;
  V sums[kRows][kVectors];
#pragma GCC unroll 8
  for (int i = 0; i < kRows; ++i) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) {
      sums[i][v] = hn::Zero(d);
      call_for_later(y + ahead + i * columns + v * kLanes);
    }
  }
  for (int64_t k = 0; k < depth; ++k, weights += kVectors * kLanes) {
    V row[kVectors];
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) row[v] = load(weights + v * kLanes);
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) {
      const V factor = set(x[i * depth + k]);
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) sums[i][v] = hn::MulAdd(factor, row[v], sums[i][v]);
    }
  }
#pragma GCC unroll 4
  for (int v = 0; v < kVectors; ++v) {
    const V bias = t.bias ? load(t.bias + v * kLanes) : hn::Zero(d);
#pragma GCC unroll 8
    for (int i = 0; i < kRows; ++i) store(hn::Add(sums[i][v], bias), y + i * columns + v * kLanes);
  }
}

template <int kVectors, int... kRows>
HWY_INLINE void run_tile(int64_t rows, const Tile& tile, std::integer_sequence<int, kRows...>) {
  using Function = void (*)(const Tile&);
  static constexpr Function kTiles[] = {&run_tile<kRows + 1, kVectors>...};
  kTiles[rows - 1](tile);
}

template <int kVectors>
HWY_INLINE void run_rows(int64_t rows, const Tile& tile) {
  run_tile<kVectors>(rows, tile, std::make_integer_sequence<int, kTileRows>());
}

HWY_INLINE int64_t vectors_at(int64_t column, int64_t columns) {
  return std::min<int64_t>(kTileVectors, (columns - column) / kLanes);
}

// The columns [first, last).
void run_columns(const Tile& whole, int64_t rows, int64_t first, int64_t last) {
  Tile tile = whole;
  for (int64_t row = 0; row < rows; row += kTileRows) {
    const int64_t height = std::min<int64_t>(kTileRows, rows - row);
    tile.ahead = (std::min(row + kTilesAhead * kTileRows, rows - height) - row) * tile.columns;
    tile.x = whole.x + row * tile.depth;
    for (int64_t c = first; c < last; c += kTileVectors * kLanes) {
      const int64_t vectors = vectors_at(c, tile.columns);
      tile.weights = whole.weights + c * tile.depth;
      tile.bias = whole.bias ? whole.bias + c : nullptr;
      tile.y = whole.y + row * tile.columns + c;
      vectors == 3   ? run_rows<3>(height, tile)
      : vectors == 2 ? run_rows<2>(height, tile)
                     : run_rows<1>(height, tile);
    }
  }
}

void product(const float* x, const float* packed, const float* bias, float* y, int64_t rows,
             int64_t depth, int64_t columns) {
  const Tile whole{
      .x = x, .weights = packed, .bias = bias, .y = y, .depth = depth, .columns = columns};
  constexpr int64_t kWidth = kTileVectors * kLanes;
  const int64_t block = std::max<int64_t>(kCachedWeights / (depth * kWidth), 1) * kWidth;
  for (int64_t c = 0; c < columns; c += block)
    run_columns(whole, rows, c, std::min(columns, c + block));
}

void pack(const float* weights, int64_t depth, int64_t columns, int64_t row, int64_t column,
          float* packed) {
  for (int64_t c = 0; c < columns;) {
    const int64_t width = vectors_at(c, columns) * kLanes;
    for (int64_t k = 0; k < depth; ++k) {
      for (int64_t i = 0; i < width; ++i) *packed++ = weights[k * row + (c + i) * column];
    }
    c += width;
  }
}

}  // namespace snug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace snug::kernels {

HWY_EXPORT(serves);
HWY_EXPORT(product);
HWY_EXPORT(pack);

bool pointwise_serves(int64_t columns) { return HWY_DYNAMIC_DISPATCH(serves)(columns); }

int64_t pointwise_packed_floats(int64_t depth, int64_t columns) { return depth * columns; }

void pointwise_pack(const float* weights, int64_t depth, int64_t columns, int64_t row,
                    int64_t column, float* packed) noexcept {
  HWY_DYNAMIC_DISPATCH(pack)(weights, depth, columns, row, column, packed);
}

void pointwise(const float* x, const float* packed, const float* bias, float* y, int64_t rows,
               int64_t depth, int64_t columns) noexcept {
  HWY_DYNAMIC_DISPATCH(product)(x, packed, bias, y, rows, depth, columns);
}

}  // namespace snug::kernels
#endif

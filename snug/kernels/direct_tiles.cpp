#include "snug/kernels/direct_tiles.h"

#include "snug/kernels/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "snug/kernels/direct_tiles.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

#include <cstring>
#include <utility>

#include "snug/kernels/gemm.h"
#include "snug/kernels/gemm_pack-inl.h"
#include "snug/kernels/gemm_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace snug::HWY_NAMESPACE {

int64_t PackedFloats(int64_t depth, int64_t filters) {
  return depth * ((filters + kTileColumns - 1) / kTileColumns) * kTileColumns;
}

void PackPlain(const float* weights, int64_t depth, int64_t filters, float* packed) {
  const GemmShape shape{.n = filters, .k = depth, .ldb = filters};
  PackB(shape, weights, 0, depth, 0, filters, packed, depth * kTileColumns);
}

HWY_INLINE int64_t VectorsFor(int64_t columns) { return columns > kLanes ? 2 : 1; }

void ForwardBand(const DirectBand& band, const float* packed, const float* bias, float* y) {
  const RowTiles tiles(band.columns);
  for (int64_t j = 0; j < band.filters; j += kTileColumns, packed += band.depth() * kTileColumns) {
    const int64_t width = std::min<int64_t>(kTileColumns, band.filters - j);
    TileInput in{.a_stride = band.column_step,
                 .b = packed,
                 .b_stride = kTileColumns,
                 .k = band.run,
                 .segments = band.kernel_height,
                 .a_segment = band.row_stride,
                 .b_segment = band.run * kTileColumns};
    TileOutput out{.row_stride = band.filters,
                   .column_stride = 1,
                   .bias = bias ? bias + j : nullptr,
                   .bias_row_stride = 0,
                   .bias_column_stride = 1,
                   .add = false,
                   .columns = width};
    for (int64_t row = 0; row < band.rows; ++row) {
      for (int64_t t = 0; t < tiles.count; ++t) {
        const int64_t column = tiles.begin(t);
        in.a = band.image + row * band.row_step + column * band.column_step;
        out.c = y + (row * band.columns + column) * band.filters + j;
        TileOf<false>(tiles.height(t), VectorsFor(width))(in, out);
      }
    }
  }
}

bool Pools() { return kTileRows == 12; }

using DI = hn::RebindToSigned<D>;
using Places = hn::Vec<DI>;
constexpr int kPoolWindows = 3;  // side by side: 12 results, as in a tile of the other kind

struct PoolOutput {
  const float* bias;  // kTileColumns floats
  float* y;
  uint8_t* places;
  int64_t row_stride;  // from one window to the next
  int64_t columns;     // of the tile that exist
};

// The four results of a window, in the order of their places.
template <int kVectors>
HWY_INLINE void StoreLargest(const V (&sum)[4][kVectors], int window, const PoolOutput& out) {
  const D d;
  const DI di;
  const hn::Rebind<uint8_t, DI> bytes;
  HWY_ALIGN float values[kVectors * kLanes];
  HWY_ALIGN uint8_t places[kVectors * kLanes];
  const bool full = out.columns == kVectors * kLanes;
  float* y = full ? out.y + window * out.row_stride : values;
  uint8_t* to = full ? out.places + window * out.row_stride : places;
#pragma GCC unroll 2
  for (int v = 0; v < kVectors; ++v) {
    const V bias = hn::Load(d, out.bias + v * kLanes);
    V largest = hn::Add(sum[0][v], bias);
    Places place = hn::Zero(di);
#pragma GCC unroll 4
    for (int i = 1; i < 4; ++i) {
      const V value = hn::Add(sum[i][v], bias);
      const auto wins = hn::And(hn::Not(hn::Le(value, largest)), hn::Eq(largest, largest));
      largest = hn::IfThenElse(wins, value, largest);
      place = hn::IfThenElse(hn::RebindMask(di, wins), hn::Set(di, i), place);
    }
    hn::StoreU(largest, d, y + v * kLanes);
    hn::StoreU(hn::DemoteTo(bytes, place), bytes, to + v * kLanes);
  }
  if (full) return;
  const auto count = static_cast<size_t>(out.columns);
  std::memcpy(out.y + window * out.row_stride, values, count * sizeof(float));
  std::memcpy(out.places + window * out.row_stride, places, count);
}

template <int kWindows, int kVectors>
HWY_INLINE void PoolTile(const DirectBand& band, const float* image, const float* weights,
                         const PoolOutput& out) {
  const D d;
  V sum[kWindows][4][kVectors];
#pragma GCC unroll 16
  for (int i = 0; i < kWindows * 4; ++i) {
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) sum[i / 4][i % 4][v] = hn::Zero(d);
  }
  for (int64_t s = 0; s < band.kernel_height; ++s) {
    const float* HWY_RESTRICT above = image + s * band.row_stride;
    const float* HWY_RESTRICT below = above + band.row_step;
    for (int64_t p = 0; p < band.run; ++p, ++above, ++below, weights += kTileColumns) {
      V row[kVectors];
#pragma GCC unroll 2
      for (int v = 0; v < kVectors; ++v) row[v] = hn::LoadU(d, weights + v * kLanes);
#pragma GCC unroll 16
      for (int i = 0; i < kWindows * 4; ++i) {
        const int64_t column = i / 4 * 2 + i % 2;
        const V factor = hn::Set(d, (i % 4 < 2 ? above : below)[column * band.column_step]);
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v)
          sum[i / 4][i % 4][v] = hn::MulAdd(factor, row[v], sum[i / 4][i % 4][v]);
      }
    }
  }
#pragma GCC unroll 4
  for (int w = 0; w < kWindows; ++w) StoreLargest(sum[w], w, out);
}

template <int kVectors>
HWY_INLINE void PoolWindows(int64_t windows, const DirectBand& band, const float* image,
                            const float* weights, const PoolOutput& out) {
  if (windows == 1) return PoolTile<1, kVectors>(band, image, weights, out);
  if (windows == 2) return PoolTile<2, kVectors>(band, image, weights, out);
  PoolTile<kPoolWindows, kVectors>(band, image, weights, out);
}

void ForwardPooledBand(const DirectBand& band, const float* packed, const float* bias, float* y,
                       uint8_t* places) {
  HWY_ALIGN float own_bias[kTileColumns] = {};
  const int64_t windows = band.columns / 2;
  for (int64_t j = 0; j < band.filters; j += kTileColumns, packed += band.depth() * kTileColumns) {
    const int64_t width = std::min<int64_t>(kTileColumns, band.filters - j);
    if (bias) std::copy_n(bias + j, width, own_bias);
    for (int64_t row = 0; row < band.rows / 2; ++row) {
      for (int64_t w = 0; w < windows; w += kPoolWindows) {
        const float* image = band.image + 2 * row * band.row_step + 2 * w * band.column_step;
        const int64_t at = (row * windows + w) * band.filters + j;
        const PoolOutput out{own_bias, y + at, places + at, band.filters, width};
        const int64_t count = std::min<int64_t>(kPoolWindows, windows - w);
        width > kLanes ? PoolWindows<2>(count, band, image, packed, out)
                       : PoolWindows<1>(count, band, image, packed, out);
      }
    }
  }
}

int64_t WeightsTiles(const DirectBand& band) {
  return band.kernel_height * RowTiles(band.run).count;
}

// dy serves as it is where its rows are whole vectors side by side.
HWY_INLINE bool PacksPanel(const DirectBand& band) {
  return band.filters != kTileColumns && band.filters != kLanes;
}

int64_t PanelFloats(const DirectBand& band) {
  return PacksPanel(band) ? band.rows * band.columns * kTileColumns : 0;
}

void WeightsBand(const DirectBand& band, const float* dy, int64_t first, int64_t last, bool add,
                 float* dw, float* panel) {
  const RowTiles tiles(band.run);
  const int64_t positions = band.rows * band.columns;
  const bool packs = PacksPanel(band);
  const GemmShape whole{.n = band.filters, .k = positions, .ldb = band.filters};
  for (int64_t j = 0; j < band.filters; j += kTileColumns) {
    const int64_t width = std::min<int64_t>(kTileColumns, band.filters - j);
    if (packs) PackB(whole, dy, 0, positions, j, j + width, panel, 0);
    const int64_t b_stride = packs ? kTileColumns : band.filters;
    TileInput in{.a_stride = band.column_step,
                 .b = packs ? panel : dy + j,
                 .b_stride = b_stride,
                 .k = band.columns,
                 .segments = band.rows,
                 .a_segment = band.row_step,
                 .b_segment = band.columns * b_stride};
    TileOutput out{.row_stride = band.filters,
                   .column_stride = 1,
                   .bias = nullptr,
                   .bias_row_stride = 0,
                   .bias_column_stride = 1,
                   .add = add,
                   .columns = width};
    for (int64_t tile = first; tile < last; ++tile) {
      const int64_t kernel_row = tile / tiles.count, t = tile % tiles.count;
      in.a = band.image + kernel_row * band.row_stride + tiles.begin(t);
      out.c = dw + (kernel_row * band.run + tiles.begin(t)) * band.filters + j;
      TileOf<true>(tiles.height(t), VectorsFor(width))(in, out);
    }
  }
}

}  // namespace snug::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace snug {

HWY_EXPORT(PackedFloats);
HWY_EXPORT(PackPlain);
HWY_EXPORT(ForwardBand);
HWY_EXPORT(Pools);
HWY_EXPORT(ForwardPooledBand);
HWY_EXPORT(WeightsTiles);
HWY_EXPORT(PanelFloats);
HWY_EXPORT(WeightsBand);

int64_t direct_packed_floats(int64_t depth, int64_t filters) {
  return HWY_DYNAMIC_DISPATCH(PackedFloats)(depth, filters);
}

void direct_pack(const float* weights, int64_t depth, int64_t filters, float* packed) noexcept {
  HWY_DYNAMIC_DISPATCH(PackPlain)(weights, depth, filters, packed);
}

void direct_forward(const DirectBand& band, const float* packed, const float* bias,
                    float* y) noexcept {
  HWY_DYNAMIC_DISPATCH(ForwardBand)(band, packed, bias, y);
}

bool direct_pools() { return HWY_DYNAMIC_DISPATCH(Pools)(); }

void direct_forward_pooled(const DirectBand& band, const float* packed, const float* bias, float* y,
                           uint8_t* places) noexcept {
  HWY_DYNAMIC_DISPATCH(ForwardPooledBand)(band, packed, bias, y, places);
}

int64_t direct_weights_tiles(const DirectBand& band) {
  return HWY_DYNAMIC_DISPATCH(WeightsTiles)(band);
}

int64_t direct_panel_floats(const DirectBand& band) {
  return HWY_DYNAMIC_DISPATCH(PanelFloats)(band);
}

void direct_weights(const DirectBand& band, const float* dy, int64_t first, int64_t last, bool add,
                    float* dw, float* panel) noexcept {
  HWY_DYNAMIC_DISPATCH(WeightsBand)(band, dy, first, last, add, dw, panel);
}

}  // namespace snug
#endif

#include "snug/kernels/direct_tiles.h"

#include "snug/kernels/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "snug/kernels/direct_tiles.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

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

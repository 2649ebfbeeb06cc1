#include "snug/kernels/winograd_tiles.h"

#include "snug/kernels/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "snug/kernels/winograd_tiles.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

#include <cstring>
#include <utility>

#include "snug/kernels/gemm.h"
#include "snug/kernels/gemm_pack-inl.h"
#include "snug/kernels/gemm_tile-inl.h"
#include "snug/kernels/winograd_points-inl.h"

HWY_BEFORE_NAMESPACE();
namespace snug::HWY_NAMESPACE {

HWY_INLINE int64_t PanelWidth(int64_t filters, int64_t j) {
  return std::min<int64_t>(kTileColumns, filters - j);
}

// A walk over the tiles, so that nothing is divided for each of them.
struct TileWalk {
  TileWalk(const ConvolutionShape& s, int64_t first)
      : rows((s.out_height() + 1) / 2),
        columns((s.out_width() + 1) / 2),
        image(first / (rows * columns)),
        row(first / columns % rows),
        column(first % columns) {}
  void next() {
    if (++column < columns) return;
    column = 0;
    if (++row < rows) return;
    row = 0;
    ++image;
  }
  int64_t rows, columns, image, row, column;
};

// A square of an image, and what is beyond its border as zeros in `edge`.
struct Square {
  const float* pixels;
  int64_t row_stride;
};

HWY_INLINE Square SquareAt(const float* image, int64_t height, int64_t width, int64_t channels,
                           int64_t row, int64_t column, int64_t size, float* edge) {
  const float* from = image + (row * width + column) * channels;
  if (row >= 0 && column >= 0 && row + size <= height && column + size <= width)
    return {from, width * channels};
  for (int64_t i = 0; i < size; ++i) {
    for (int64_t j = 0; j < size; ++j) {
      float* to = edge + (i * size + j) * channels;
      const bool exists = row + i >= 0 && row + i < height && column + j >= 0 && column + j < width;
      if (exists) std::copy_n(from + (i * width + j) * channels, channels, to);
      if (!exists) std::fill_n(to, channels, 0.0f);
    }
  }
  return {edge, size * channels};
}

// Points stand [point][group of channels][tile][channel of the group], so that a product reads them
// one after the other. A point more apart than a power of two, or all would meet in one cache set.
struct Points {
  float* values;
  int64_t tiles, channels;
  static int64_t floats(int64_t tiles, int64_t channels) {
    return kWinogradPoints * Stride(tiles, channels);
  }
  static int64_t Stride(int64_t tiles, int64_t channels) { return tiles * channels + 16; }
  int64_t stride() const { return Stride(tiles, channels); }
};

void PixelPoints(const ConvolutionShape& s, const float* x, WinogradRange tiles,
                 const WinogradPart& part, const Points& to, float* edge) {
  TileWalk tile(s, tiles.begin);
  for (int64_t t = 0; t < tiles.size(); ++t, tile.next()) {
    const Square square =
        SquareAt(x + tile.image * s.height * s.width * s.channels, s.height, s.width, s.channels,
                 2 * tile.row - s.top, 2 * tile.column - s.left, 4, edge);
    for (int64_t c = 0; c < to.channels; c += kLanes) {
      float* at = to.values + c / kWinogradGroup * to.tiles * kWinogradGroup + t * kWinogradGroup +
                  c % kWinogradGroup;
      const float* from = square.pixels + part.channels.begin + c;
      if (part.rows.size() == 4)
        AllPixelRows(from, square.row_stride, s.channels, at, to.stride());
      else
        PixelRows(part.rows, from, square.row_stride, s.channels, at, to.stride());
    }
  }
}

// dy's points stand in panels of filters: [point][panel][tile][filter of the panel].
void GradientPoints(const ConvolutionShape& s, const float* dy, WinogradRange tiles,
                    WinogradRange rows, const Points& to, float* edge) {
  const int64_t height = s.out_height(), width = s.out_width();
  TileWalk tile(s, tiles.begin);
  for (int64_t t = 0; t < tiles.size(); ++t, tile.next()) {
    const Square square = SquareAt(dy + tile.image * height * width * s.filters, height, width,
                                   s.filters, 2 * tile.row, 2 * tile.column, 2, edge);
    for (int64_t f = 0; f < s.filters; f += kLanes) {
      const int64_t panel = f / kTileColumns * kTileColumns;
      float* at = to.values + panel * to.tiles + t * PanelWidth(s.filters, panel) + f - panel;
      GradientRows(rows, square.pixels + f, square.row_stride, s.filters, at, to.stride());
    }
  }
}

HWY_INLINE int64_t VectorsOf(int64_t width) { return width > kLanes ? 2 : 1; }

// One panel of filters: [point][tile][filter].
void PanelProducts(const Points& pixels, int64_t count, const float* packed, int64_t width,
                   const Points& to) {
  const RowTiles tiles(count);
  TileInput in{.a_stride = kWinogradGroup,
               .b = packed,
               .b_stride = width,
               .k = kWinogradGroup,
               .segments = pixels.channels / kWinogradGroup,
               .a_segment = pixels.tiles * kWinogradGroup,
               .b_segment = kWinogradGroup * width};
  TileOutput out{.row_stride = width,
                 .column_stride = 1,
                 .bias = nullptr,
                 .bias_row_stride = 0,
                 .bias_column_stride = 1,
                 .add = false,
                 .columns = width};
  for (int64_t point = 0; point < kWinogradPoints; ++point, in.b += pixels.channels * width) {
    for (int64_t t = 0; t < tiles.count; ++t) {
      in.a = pixels.values + point * pixels.stride() + tiles.begin(t) * kWinogradGroup;
      out.c = to.values + point * to.stride() + tiles.begin(t) * width;
      TileOf<false>(tiles.height(t), VectorsOf(width))(in, out);
    }
  }
}

// The panel's results from its points; y and bias begin with its first filter.
void PanelResults(const ConvolutionShape& s, const Points& from, WinogradRange tiles, int64_t width,
                  const float* bias, float* y) {
  const D d;
  const int64_t height = s.out_height(), columns = s.out_width();
  TileWalk tile(s, tiles.begin);
  for (int64_t t = 0; t < tiles.size(); ++t, tile.next()) {
    const int64_t row = 2 * tile.row, column = 2 * tile.column;
    const ResultPlace place{.y = y + ((tile.image * height + row) * columns + column) * s.filters,
                            .row_stride = columns * s.filters,
                            .pixel_stride = s.filters,
                            .two_rows = row + 1 < height,
                            .two_columns = column + 1 < columns};
    for (int64_t f = 0; f < width; f += kLanes) {
      const V start = bias ? hn::LoadU(d, bias + f) : hn::Zero(d);
      ResultOfPoints(from.values + t * width + f, from.stride(), start, place, f);
    }
  }
}

int64_t ForwardFloats(const ConvolutionShape& s, int64_t tiles) {
  return Points::floats(tiles, s.channels) + Points::floats(tiles, kTileColumns) + 16 * s.channels;
}

void Forward(const ConvolutionShape& s, const float* x, WinogradRange tiles, const float* packed,
             const float* bias, float* y, float* scratch) {
  const int64_t count = tiles.size();
  const Points pixels{scratch, count, s.channels};
  const Points results{scratch + Points::floats(count, s.channels), count, kTileColumns};
  PixelPoints(s, x, tiles, {{0, s.channels}, {0, 4}}, pixels,
              results.values + Points::floats(count, kTileColumns));
  for (int64_t j = 0; j < s.filters; j += kTileColumns) {
    const int64_t width = PanelWidth(s.filters, j);
    PanelProducts(pixels, count, packed + kWinogradPoints * s.channels * j, width, results);
    PanelResults(s, results, tiles, width, bias ? bias + j : nullptr, y + j);
  }
}

int64_t SumStride(const ConvolutionShape& s) { return s.channels * s.filters + 16; }

int64_t SumFloats(const ConvolutionShape& s) { return kWinogradPoints * SumStride(s); }

int64_t WeightsFloats(const ConvolutionShape& s, const WinogradPart& part, int64_t tiles) {
  return Points::floats(tiles, part.channels.size()) + Points::floats(tiles, s.filters) +
         16 * std::max(s.channels, s.filters);
}

// sums[channels, filters] of one point.
void PointSums(const Points& pixels, const Points& gradients, int64_t count, int64_t point,
               bool add, float* sums) {
  const int64_t filters = gradients.channels;
  const RowTiles tiles(kWinogradGroup);
  for (int64_t j = 0; j < filters; j += kTileColumns) {
    const int64_t width = PanelWidth(filters, j);
    TileInput in{.a_stride = kWinogradGroup,
                 .b = gradients.values + point * gradients.stride() + j * gradients.tiles,
                 .b_stride = width,
                 .k = count};
    TileOutput out{.row_stride = filters,
                   .column_stride = 1,
                   .bias = nullptr,
                   .bias_row_stride = 0,
                   .bias_column_stride = 1,
                   .add = add,
                   .columns = width};
    for (int64_t c = 0; c < pixels.channels; c += kWinogradGroup) {
      for (int64_t t = 0; t < tiles.count; ++t) {
        in.a = pixels.values + point * pixels.stride() + c * pixels.tiles + tiles.begin(t);
        out.c = sums + (c + tiles.begin(t)) * filters + j;
        TileOf<true>(tiles.height(t), VectorsOf(width))(in, out);
      }
    }
  }
}

void Weights(const ConvolutionShape& s, const float* x, const float* dy, WinogradRange tiles,
             const WinogradPart& part, bool add, float* sums, float* scratch) {
  const int64_t count = tiles.size(), channels = part.channels.size();
  const Points pixels{scratch, count, channels};
  const Points gradients{scratch + Points::floats(count, channels), count, s.filters};
  float* edge = gradients.values + Points::floats(count, s.filters);
  PixelPoints(s, x, tiles, part, pixels, edge);
  GradientPoints(s, dy, tiles, part.rows, gradients, edge);
  for (int64_t point = 4 * part.rows.begin; point < 4 * part.rows.end; ++point) {
    PointSums(pixels, gradients, count, point, add,
              sums + point * SumStride(s) + part.channels.begin * s.filters);
  }
}

void WeightsResult(const ConvolutionShape& s, const float* sums, WinogradRange channels,
                   bool accumulate, float* dw) {
  const int64_t size = s.channels * s.filters;
  for (int64_t at = channels.begin * s.filters; at < channels.end * s.filters; at += kLanes)
    WeightsOfSums(sums + at, SumStride(s), accumulate, dw + at, size);
}

// A piece of weights [9, 4 channels, 16 filters], its taps in the order of the convolution.
void GatherWeights(const float* weights, int64_t channels, int64_t filters, bool transposed,
                   int64_t c, int64_t f, float* piece) {
  for (int64_t tap = 0; tap < 9; ++tap, piece += 4 * kWinogradGroup) {
    const float* from = weights + (transposed ? 8 - tap : tap) * channels * filters;
    for (int64_t i = 0; i < kWinogradGroup; i += 4) {
      if (transposed)
        Transpose4(from + (f + i) * channels + c, channels, piece + i, kWinogradGroup);
      else
        std::copy_n(from + (c + i / 4) * filters + f, kWinogradGroup,
                    piece + i / 4 * kWinogradGroup);
    }
  }
}

void Pack(const float* weights, int64_t channels, int64_t filters, bool transposed, float* packed) {
  HWY_ALIGN float piece[9 * 4 * kWinogradGroup];
  for (int64_t f = 0; f < filters; f += kWinogradGroup) {
    for (int64_t c = 0; c < channels; c += 4) {
      GatherWeights(weights, channels, filters, transposed, c, f, piece);
      for (int64_t i = 0; i < 4 * kWinogradGroup; i += kLanes) {
        const int64_t filter = f + i % kWinogradGroup;
        const int64_t panel = filter / kTileColumns * kTileColumns;
        const int64_t width = PanelWidth(filters, panel);
        float* to = packed + kWinogradPoints * channels * panel + (c + i / kWinogradGroup) * width +
                    filter - panel;
        PointsOfWeights(piece + i, 4 * kWinogradGroup, to, channels * width);
      }
    }
  }
}

}  // namespace snug::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace snug {

HWY_EXPORT(Pack);
HWY_EXPORT(ForwardFloats);
HWY_EXPORT(Forward);
HWY_EXPORT(SumFloats);
HWY_EXPORT(WeightsFloats);
HWY_EXPORT(Weights);
HWY_EXPORT(WeightsResult);

void winograd_pack(const float* weights, int64_t channels, int64_t filters, bool transposed,
                   float* packed) noexcept {
  HWY_DYNAMIC_DISPATCH(Pack)(weights, channels, filters, transposed, packed);
}

int64_t winograd_forward_floats(const ConvolutionShape& s, int64_t tiles) {
  return HWY_DYNAMIC_DISPATCH(ForwardFloats)(s, tiles);
}

void winograd_forward(const ConvolutionShape& s, const float* x, WinogradRange tiles,
                      const float* packed, const float* bias, float* y, float* scratch) noexcept {
  HWY_DYNAMIC_DISPATCH(Forward)(s, x, tiles, packed, bias, y, scratch);
}

int64_t winograd_sum_floats(const ConvolutionShape& s) {
  return HWY_DYNAMIC_DISPATCH(SumFloats)(s);
}

int64_t winograd_weights_floats(const ConvolutionShape& s, const WinogradPart& part,
                                int64_t tiles) {
  return HWY_DYNAMIC_DISPATCH(WeightsFloats)(s, part, tiles);
}

void winograd_weights(const ConvolutionShape& s, const float* x, const float* dy,
                      WinogradRange tiles, const WinogradPart& part, bool add, float* sums,
                      float* scratch) noexcept {
  HWY_DYNAMIC_DISPATCH(Weights)(s, x, dy, tiles, part, add, sums, scratch);
}

void winograd_weights_result(const ConvolutionShape& s, const float* sums, WinogradRange channels,
                             bool accumulate, float* dw) noexcept {
  HWY_DYNAMIC_DISPATCH(WeightsResult)(s, sums, channels, accumulate, dw);
}

}  // namespace snug
#endif

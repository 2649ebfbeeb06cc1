#include "snug/kernels/im2col.h"

#include <algorithm>
#include <utility>

#include "snug/base/error.h"
#include "snug/base/threads.h"
#include "snug/kernels/im2col_depthwise.h"

namespace snug {
namespace {

constexpr int64_t kPieceRows = 256;   // of dw, and
constexpr int64_t kPieceDepth = 256;  // positions a tile: 256 KiB of columns
constexpr int64_t kLineFloats = 16;
constexpr double kWorthwhileFlops = 1e6;  // a thread

size_t line_bytes(size_t bytes) { return (bytes + 63) / 64 * 64; }

bool is_depthwise(const ConvolutionShape& s) {
  return s.groups == s.channels && s.filters == s.channels && s.channels > 1;
}

int64_t group_channels(const ConvolutionShape& s) { return s.channels / s.groups; }
int64_t group_filters(const ConvolutionShape& s) { return s.filters / s.groups; }

int checked_threads(const ConvolutionShape& s, int threads) {
  SNUG_CHECK(threads >= 1 && s.groups >= 1 && s.out_height() >= 1 && s.out_width() >= 1);
  SNUG_CHECK(s.channels % s.groups == 0 && s.filters % s.groups == 0, "{} channels, {} filters",
             s.channels, s.filters);
  const double flops =
      2.0 * s.batch * s.out_height() * s.out_width() * s.taps() * group_channels(s) * s.filters;
  const double worthwhile = std::max(1.0, flops / kWorthwhileFlops);
  return worthwhile < threads ? static_cast<int>(worthwhile) : threads;
}

Gather forward_gather(const ConvolutionShape& s) {
  Gather gather{.batch = s.batch,
                .height = s.height,
                .width = s.width,
                .channels = s.channels,
                .rows = s.out_height(),
                .columns = s.out_width(),
                .row_step = s.stride_height,
                .column_step = s.stride_width,
                .taps = {}};
  for (int64_t tap = 0; tap < s.taps(); ++tap) {
    gather.taps.push_back({tap / s.kernel_width * s.dilation_height - s.top,
                           tap % s.kernel_width * s.dilation_width - s.left});
  }
  return gather;
}

size_t taps_bytes(const ConvolutionShape& s) { return line_bytes(s.taps() * sizeof(DepthwiseTap)); }

// The row or column of y that x's row or column `at` reaches through tap `k`, or -1.
int64_t reached(int64_t at, int64_t k, int64_t dilation, int64_t before, int64_t stride,
                int64_t size) {
  const int64_t beyond = at + before - k * dilation;
  if (beyond < 0 || (stride != 1 && beyond % stride != 0)) return -1;
  const int64_t at_y = stride == 1 ? beyond : beyond / stride;
  return at_y < size ? at_y : -1;
}

// The columns [begin, end) of y for which the tap at `offset` from their first pixel is inside x.
std::pair<int64_t, int64_t> inside(int64_t offset, int64_t stride, int64_t size, int64_t columns) {
  const int64_t begin = offset >= 0 ? 0 : (-offset + stride - 1) / stride;
  const int64_t end = size - offset <= 0 ? 0 : (size - offset + stride - 1) / stride;
  return {std::min(begin, columns), std::min(end, columns)};
}

// Row `row` of the rows of all images of y.
void depthwise_forward_row(const ConvolutionShape& s, const float* x, const float* weights,
                           const float* bias, float* y, int64_t row, DepthwiseTap* taps) {
  const int64_t image = row / s.out_height(), i = row % s.out_height();
  // Between these columns all taps are inside: their list is made once.
  const int64_t last_tap = (s.kernel_width - 1) * s.dilation_width - s.left;
  const int64_t begin = inside(-s.left, s.stride_width, s.width, s.out_width()).first;
  const int64_t end = inside(last_tap, s.stride_width, s.width, s.out_width()).second;
  for (int64_t j = 0, pixels; j < s.out_width(); j += pixels) {
    pixels = j >= begin && j < end ? end - j : 1;
    int64_t count = 0;
    for (int64_t k = 0; k < s.kernel_height; ++k) {
      const int64_t r = i * s.stride_height + k * s.dilation_height - s.top;
      if (r < 0 || r >= s.height) continue;
      for (int64_t l = 0; l < s.kernel_width; ++l) {
        const int64_t c = j * s.stride_width + l * s.dilation_width - s.left;
        if (c < 0 || c >= s.width) continue;
        taps[count++] = {x + ((image * s.height + r) * s.width + c) * s.channels,
                         weights + (k * s.kernel_width + l) * s.channels};
      }
    }
    depthwise_pixels(taps, count, s.stride_width * s.channels, pixels, s.channels, bias,
                     y + (row * s.out_width() + j) * s.channels);
  }
}

// Row `row` of the rows of all images of x.
void depthwise_input_row(const ConvolutionShape& s, const float* dy, const float* weights,
                         float* dx, int64_t row, DepthwiseTap* taps) {
  const int64_t image = row / s.height, i = row % s.height;
  const int64_t out_height = s.out_height(), out_width = s.out_width();
  // Between these columns all taps are inside dy; strides leave out other taps for each column.
  const int64_t begin = std::max(int64_t{0}, (s.kernel_width - 1) * s.dilation_width - s.left);
  const int64_t end = s.stride_width == 1 ? std::min(s.width, out_width - s.left) : 0;
  for (int64_t j = 0, pixels; j < s.width; j += pixels) {
    pixels = j >= begin && j < end ? end - j : 1;
    int64_t count = 0;
    for (int64_t k = 0; k < s.kernel_height; ++k) {
      const int64_t r = reached(i, k, s.dilation_height, s.top, s.stride_height, out_height);
      if (r < 0) continue;
      for (int64_t l = 0; l < s.kernel_width; ++l) {
        const int64_t c = reached(j, l, s.dilation_width, s.left, s.stride_width, out_width);
        if (c < 0) continue;
        taps[count++] = {dy + ((image * out_height + r) * out_width + c) * s.channels,
                         weights + (k * s.kernel_width + l) * s.channels};
      }
    }
    depthwise_pixels(taps, count, s.channels, pixels, s.channels, nullptr,
                     dx + (row * s.width + j) * s.channels);
  }
}

// Channels [first, last) of dw, row by row of y, each tap's sum over a row in registers.
void depthwise_weights_channels(const ConvolutionShape& s, const float* x, const float* dy,
                                float* dw, int64_t first, int64_t last) {
  for (int64_t row = 0; row < s.batch * s.out_height(); ++row) {
    const int64_t image = row / s.out_height(), i = row % s.out_height();
    for (int64_t tap = 0; tap < s.taps(); ++tap) {
      const int64_t r = i * s.stride_height + tap / s.kernel_width * s.dilation_height - s.top;
      if (r < 0 || r >= s.height) continue;
      const int64_t offset = tap % s.kernel_width * s.dilation_width - s.left;
      const auto [begin, end] = inside(offset, s.stride_width, s.width, s.out_width());
      if (begin >= end) continue;
      const int64_t pixel = (image * s.height + r) * s.width + begin * s.stride_width + offset;
      depthwise_row(x + pixel * s.channels + first, s.stride_width * s.channels,
                    dy + (row * s.out_width() + begin) * s.channels + first, s.channels,
                    end - begin, last - first, dw + tap * s.channels + first);
    }
  }
}

}  // namespace

ConvolutionForward::ConvolutionForward(const ConvolutionShape& shape, int threads)
    : shape_(shape), threads_(checked_threads(shape, threads)) {
  if (is_depthwise(shape)) {
    scratch_bytes_ = taps_bytes(shape) * threads_;
    return;
  }
  const ColumnProduct::Output output{shape.out_height(), shape.out_width(),   0, 0, 1, 1,
                                     shape.groups,       group_filters(shape)};
  product_.emplace_back(forward_gather(shape), output, /*transpose_weights=*/false);
  scratch_bytes_ = product_[0].packed_bytes() + product_[0].part_bytes() * threads_;
}

void ConvolutionForward::run(const float* x, const float* weights, const float* bias, float* y,
                             void* scratch) const noexcept {
  std::byte* bytes = static_cast<std::byte*>(scratch);
  if (product_.empty()) {
    const int64_t rows = shape_.batch * shape_.out_height();
    return parallel_parts(threads_, [&](int part) {
      auto* taps = reinterpret_cast<DepthwiseTap*>(bytes + taps_bytes(shape_) * part);
      for (int64_t row = rows * part / threads_; row < rows * (part + 1) / threads_; ++row) {
        depthwise_forward_row(shape_, x, weights, bias, y, row, taps);
      }
    });
  }
  const ColumnProduct& product = product_[0];
  for (int64_t group = 0; group < shape_.groups; ++group) {
    for (int64_t tap = 0; tap < shape_.taps(); ++tap) {
      product.pack_tap(
          tap, group,
          weights + tap * group_channels(shape_) * shape_.filters + group * group_filters(shape_),
          shape_.filters, bytes);
    }
  }
  product.run(threads_, x, bytes, bias, y, bytes + product.packed_bytes());
}

ConvolutionInputGradient::ConvolutionInputGradient(const ConvolutionShape& shape, int threads)
    : shape_(shape), threads_(checked_threads(shape, threads)) {
  if (is_depthwise(shape)) {
    scratch_bytes_ = taps_bytes(shape) * threads_;
    return;
  }
  for (int64_t row = 0; row < std::min(shape.stride_height, shape.height); ++row) {
    for (int64_t column = 0; column < std::min(shape.stride_width, shape.width); ++column) {
      phases_.push_back(phase(row, column));
      const ColumnProduct& product = phases_.back().product;
      scratch_bytes_ =
          std::max(scratch_bytes_, product.packed_bytes() + product.part_bytes() * threads_);
    }
  }
}

ConvolutionInputGradient::Phase ConvolutionInputGradient::phase(int64_t row, int64_t column) const {
  const ConvolutionShape& s = shape_;
  Gather gather{.batch = s.batch,
                .height = s.out_height(),
                .width = s.out_width(),
                .channels = s.filters,
                .rows = (s.height - row - 1) / s.stride_height + 1,
                .columns = (s.width - column - 1) / s.stride_width + 1,
                .row_step = 1,
                .column_step = 1,
                .taps = {}};
  std::vector<int64_t> taps;
  // From the last tap to the first, so that taps side by side in dy are copied together.
  for (int64_t tap = s.taps() - 1; tap >= 0; --tap) {
    const int64_t r = row + s.top - tap / s.kernel_width * s.dilation_height;
    const int64_t c = column + s.left - tap % s.kernel_width * s.dilation_width;
    if (r % s.stride_height != 0 || c % s.stride_width != 0) continue;
    gather.taps.push_back({r / s.stride_height, c / s.stride_width});
    taps.push_back(tap);
  }
  const ColumnProduct::Output output{s.height,        s.width,        row,      column,
                                     s.stride_height, s.stride_width, s.groups, group_channels(s)};
  return {taps, ColumnProduct(std::move(gather), output, /*transpose_weights=*/true)};
}

void ConvolutionInputGradient::run(const float* dy, const float* weights, float* dx,
                                   void* scratch) const noexcept {
  std::byte* bytes = static_cast<std::byte*>(scratch);
  if (phases_.empty()) {
    const int64_t rows = shape_.batch * shape_.height;
    return parallel_parts(threads_, [&](int part) {
      auto* taps = reinterpret_cast<DepthwiseTap*>(bytes + taps_bytes(shape_) * part);
      for (int64_t row = rows * part / threads_; row < rows * (part + 1) / threads_; ++row) {
        depthwise_input_row(shape_, dy, weights, dx, row, taps);
      }
    });
  }
  for (const auto& [taps, product] : phases_) {
    for (int64_t group = 0; group < shape_.groups; ++group) {
      for (size_t tap = 0; tap < taps.size(); ++tap) {
        product.pack_tap(tap, group,
                         weights + taps[tap] * group_channels(shape_) * shape_.filters +
                             group * group_filters(shape_),
                         shape_.filters, bytes);
      }
    }
    product.run(threads_, dy, bytes, nullptr, dx, bytes + product.packed_bytes());
  }
}

ConvolutionWeightsGradient::ConvolutionWeightsGradient(const ConvolutionShape& shape, int threads)
    : shape_(shape), threads_(checked_threads(shape, threads)), gather_(forward_gather(shape)) {
  if (is_depthwise(shape)) return;
  for (int64_t group = 0; group < shape.groups; ++group) add_pieces(group);
  part_bytes_ = thread_stride(part_bytes_, threads_);
}

// Enough pieces to keep all threads busy, none taller than kPieceRows.
void ConvolutionWeightsGradient::add_pieces(int64_t group) {
  const int64_t rows = shape_.taps() * group_channels(shape_);
  const int64_t wanted = (threads_ + shape_.groups - 1) / shape_.groups;
  const int64_t count = std::min(rows, std::max(wanted, (rows + kPieceRows - 1) / kPieceRows));
  const int64_t rest = gather_.positions() % kPieceDepth;
  for (int64_t piece = 0; piece < count; ++piece) {
    const int64_t first = rows * piece / count, last = rows * (piece + 1) / count;
    GemmShape product = dense_gemm(last - first, group_filters(shape_), kPieceDepth, true, false);
    if (gather_.identity()) product.lda = shape_.channels;
    product.ldb = product.ldc = shape_.filters;
    GemmShape short_product = product;
    short_product.k = rest;
    pieces_.push_back({group, first, last, Gemm(product, 1), Gemm(short_product, 1)});
    const Piece& added = pieces_.back();
    const size_t columns = gather_.identity() ? 0 : (last - first) * kPieceDepth * sizeof(float);
    part_bytes_ = std::max(part_bytes_, line_bytes(columns) + std::max(added.full.scratch_bytes(),
                                                                       added.rest.scratch_bytes()));
  }
}

void ConvolutionWeightsGradient::run_piece(const Piece& piece, const float* x, const float* dy,
                                           float* dw, bool accumulate, std::byte* scratch) const {
  const int64_t rows = piece.last - piece.first, channels = group_channels(shape_);
  float* columns = reinterpret_cast<float*>(scratch);
  std::byte* gemm_scratch =
      scratch + (gather_.identity() ? 0 : line_bytes(rows * kPieceDepth * sizeof(float)));
  for (int64_t p = 0; p < gather_.positions(); p += kPieceDepth) {
    const int64_t count = std::min(kPieceDepth, gather_.positions() - p);
    const float* a = x + p * shape_.channels + piece.group * channels + piece.first;
    if (!gather_.identity()) {
      gather(gather_, {p, count, piece.group * channels, channels, piece.first, piece.last}, x,
             columns);
      a = columns;
    }
    const int64_t filter = piece.group * group_filters(shape_);
    (count == kPieceDepth ? piece.full : piece.rest)
        .run({.a = a,
              .b = dy + p * shape_.filters + filter,
              .c = dw + piece.first * shape_.filters + filter,
              .accumulate = accumulate || p > 0},
             gemm_scratch);
  }
}

void ConvolutionWeightsGradient::run(const float* x, const float* dy, float* dw, bool accumulate,
                                     void* scratch) const noexcept {
  if (pieces_.empty()) {
    if (!accumulate) std::fill_n(dw, shape_.taps() * shape_.channels, 0.0f);
    return parallel_ranges(shape_.channels, threads_, kLineFloats,
                           [&](int64_t first, int64_t last) {
                             depthwise_weights_channels(shape_, x, dy, dw, first, last);
                           });
  }
  const int64_t pieces = pieces_.size();
  parallel_parts(threads_, [&](int part) {
    for (int64_t i = pieces * part / threads_; i < pieces * (part + 1) / threads_; ++i) {
      run_piece(pieces_[i], x, dy, dw, accumulate,
                static_cast<std::byte*>(scratch) + part_bytes_ * part);
    }
  });
}

}  // namespace snug

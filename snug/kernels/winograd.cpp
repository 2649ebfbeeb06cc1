#include "snug/kernels/winograd.h"

#include <algorithm>

#include "snug/base/threads.h"
#include "snug/kernels/direct_band.h"

namespace snug {
namespace {

constexpr int64_t kMostPadding = 2;

// Longer blocks are no faster (11 shapes of 16 to 256 channels on a Zen 4, AVX-512 and AVX2: within
// 3 %), and their points take memory on each thread.
int64_t forward_block(const ConvolutionShape& s) {
  return std::min<int64_t>(12, winograd_tiles(s));
}

// The sums are read and written again for each block: shorter ones are slower by 4 to 15 %.
int64_t weights_block(const ConvolutionShape& s) {
  return std::min<int64_t>(48, winograd_tiles(s));
}

bool is_padded_little(int64_t pixels) { return pixels >= 0 && pixels <= kMostPadding; }

ConvolutionShape turned(const ConvolutionShape& s) {
  ConvolutionShape t = s;
  t.height = s.out_height(), t.width = s.out_width();
  t.channels = s.filters, t.filters = s.channels;
  t.top = 2 - s.top, t.left = 2 - s.left;
  t.bottom = 2 - s.bottom, t.right = 2 - s.right;
  return t;
}

}  // namespace

bool winograd_serves(const ConvolutionShape& s) {
  const bool dense = s.groups == 1 && s.dilation_height == 1 && s.dilation_width == 1;
  return dense && s.kernel_height == 3 && s.kernel_width == 3 && s.stride_height == 1 &&
         s.stride_width == 1 && s.channels % kWinogradGroup == 0 &&
         s.filters % kWinogradGroup == 0 && is_padded_little(s.top) && is_padded_little(s.left) &&
         is_padded_little(s.bottom) && is_padded_little(s.right);
}

double winograd_flops(const ConvolutionShape& s) {
  constexpr double kTurning = 100;  // A channel of a tile.
  const auto channels = static_cast<double>(s.channels), filters = static_cast<double>(s.filters);
  return static_cast<double>(winograd_tiles(s)) *
         (2 * kWinogradPoints * channels * filters + kTurning * (channels + filters));
}

WinogradForward::WinogradForward(const ConvolutionShape& shape, int threads)
    : shape_(shape),
      threads_(band_threads(shape, threads)),
      block_tiles_(forward_block(shape)),
      part_bytes_(
          thread_stride(line_bytes(winograd_forward_floats(shape, block_tiles_)), threads_)) {}

size_t WinogradForward::packed_bytes() const {
  return line_bytes(kWinogradPoints * shape_.channels * shape_.filters);
}

void WinogradForward::pack(const float* weights, void* packed) const noexcept {
  winograd_pack(weights, shape_.channels, shape_.filters, /*transposed=*/false,
                static_cast<float*>(packed));
}

void WinogradForward::run(const float* x, const void* packed, const float* bias, float* y,
                          void* scratch) const noexcept {
  const int64_t tiles = winograd_tiles(shape_);
  const int64_t blocks = (tiles + block_tiles_ - 1) / block_tiles_;
  parallel_parts(threads_, [&](int part) {
    auto* own = reinterpret_cast<float*>(static_cast<std::byte*>(scratch) + part_bytes_ * part);
    for (int64_t b = blocks * part / threads_; b < blocks * (part + 1) / threads_; ++b) {
      const int64_t begin = b * block_tiles_;
      winograd_forward(shape_, x, {begin, std::min(begin + block_tiles_, tiles)},
                       static_cast<const float*>(packed), bias, y, own);
    }
  });
}

WinogradInputGradient::WinogradInputGradient(const ConvolutionShape& shape, int threads)
    : shape_(shape), turned_(turned(shape), threads) {}

double WinogradInputGradient::flops(const ConvolutionShape& shape) {
  return winograd_flops(turned(shape));
}

void WinogradInputGradient::pack(const float* weights, void* packed) const noexcept {
  winograd_pack(weights, shape_.filters, shape_.channels, /*transposed=*/true,
                static_cast<float*>(packed));
}

WinogradWeightsGradient::WinogradWeightsGradient(const ConvolutionShape& shape, int threads)
    : shape_(shape), block_tiles_(weights_block(shape)) {
  threads = band_threads(shape, threads);
  const auto groups = static_cast<int>(std::min<int64_t>(shape.channels / kWinogradGroup, 1 << 20));
  channel_parts_ = std::min(threads, groups);
  row_parts_ = channel_parts_ * 4 <= threads ? 4 : channel_parts_ * 2 <= threads ? 2 : 1;
  parts_ = channel_parts_ * row_parts_;
  sum_bytes_ = line_bytes(winograd_sum_floats(shape));
  part_bytes_ = 0;
  for (int i = 0; i < parts_; ++i) {
    part_bytes_ =
        std::max(part_bytes_, line_bytes(winograd_weights_floats(shape, part(i), block_tiles_)));
  }
  part_bytes_ = thread_stride(part_bytes_, parts_);
}

WinogradPart WinogradWeightsGradient::part(int number) const {
  const int64_t groups = shape_.channels / kWinogradGroup;
  const int64_t c = number / row_parts_, r = number % row_parts_;
  return {.channels = {groups * c / channel_parts_ * kWinogradGroup,
                       groups * (c + 1) / channel_parts_ * kWinogradGroup},
          .rows = {4 * r / row_parts_, 4 * (r + 1) / row_parts_}};
}

void WinogradWeightsGradient::run(const float* x, const float* dy, float* dw, bool accumulate,
                                  void* scratch) const noexcept {
  auto* sums = static_cast<float*>(scratch);
  std::byte* rest = static_cast<std::byte*>(scratch) + sum_bytes_;
  const int64_t tiles = winograd_tiles(shape_);
  parallel_parts(parts_, [&](int number) {
    auto* own = reinterpret_cast<float*>(rest + part_bytes_ * number);
    for (int64_t begin = 0; begin < tiles; begin += block_tiles_) {
      winograd_weights(shape_, x, dy, {begin, std::min(begin + block_tiles_, tiles)}, part(number),
                       begin > 0, sums, own);
    }
  });
  parallel_ranges(shape_.channels, parts_, 1, [&](int64_t begin, int64_t end) {
    winograd_weights_result(shape_, sums, {begin, end}, accumulate, dw);
  });
}

}  // namespace snug

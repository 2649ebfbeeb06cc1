#include "snug/kernels/pooled_windows.h"

#include "snug/kernels/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "snug/kernels/pooled_windows.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

#include <utility>

#include "snug/kernels/gemm_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace snug::HWY_NAMESPACE {

// Pixels [first, pixels) of a row.
HWY_INLINE void SplitPixels(const float* from, int64_t first, int64_t pixels, int64_t channels,
                            int64_t plane, float* to) {
  for (int64_t i = first; i < pixels; ++i) {
    for (int64_t c = 0; c < channels; ++c) to[c * plane + i] = from[i * channels + c];
  }
}

HWY_INLINE void SplitRow(const float* from, int64_t pixels, int64_t channels, int64_t plane,
                         float* to) {
  const D d;
  int64_t i = 0;
  for (; channels == 3 && i + kLanes <= pixels; i += kLanes) {
    V red, green, blue;
    hn::LoadInterleaved3(d, from + 3 * i, red, green, blue);
    hn::StoreU(red, d, to + i);
    hn::StoreU(green, d, to + plane + i);
    hn::StoreU(blue, d, to + 2 * plane + i);
  }
  for (; channels % 4 == 0 && i + 4 <= pixels; i += 4) {
    for (int64_t c = 0; c < channels; c += 4)
      Transpose4(from + i * channels + c, channels, to + c * plane + i, plane);
  }
  SplitPixels(from, i, pixels, channels, plane, to);
}

void SplitChannels(const DirectBand& from, const WindowBand& to, float* planes) {
  for (int64_t row = 0; row < to.pixel_rows(); ++row)
    SplitRow(from.image + row * from.row_stride, to.pixel_columns(), to.channels, to.plane(),
             planes + row * to.pixel_columns());
}

}  // namespace snug::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace snug {

HWY_EXPORT(SplitChannels);

void split_channels(const DirectBand& from, const WindowBand& to, float* planes) noexcept {
  HWY_DYNAMIC_DISPATCH(SplitChannels)(from, to, planes);
}

}  // namespace snug
#endif

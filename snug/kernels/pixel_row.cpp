#include "snug/kernels/pixel_row.h"

#include "snug/kernels/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "snug/kernels/pixel_row.cpp"
#include "hwy/foreach_target.h"  // Compiles what follows once for each instruction set.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace snug::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

void squeeze_each(const uint8_t* row, const PixelPlace* places, int64_t count, int64_t channels,
                  float* to) {
  for (int64_t j = 0; j < count; ++j) {
    for (int64_t c = 0; c < channels; ++c) {
      const float first = row[places[j].first + c], second = row[places[j].second + c];
      *to++ = first + (second - first) * places[j].share;
    }
  }
}

// All channels of a pixel at once; what stands behind them is overwritten by the next pixel.
void squeeze(const uint8_t* row, const PixelPlace* places, int64_t count, int64_t channels,
             float* to) {
#if HWY_TARGET == HWY_SCALAR
  squeeze_each(row, places, count, channels, to);
#else
  if (channels == 1) return squeeze_each(row, places, count, channels, to);
  const hn::FixedTag<float, 4> df;
  const hn::FixedTag<int32_t, 4> di;
  const hn::FixedTag<uint8_t, 4> du8;
  const auto pixel = [&](int32_t at) HWY_ATTR {
    return hn::ConvertTo(df, hn::PromoteTo(di, hn::LoadU(du8, row + at)));
  };
  for (int64_t j = 0; j < count; ++j, to += channels) {
    const auto first = pixel(places[j].first), second = pixel(places[j].second);
    const auto step = hn::Mul(hn::Sub(second, first), hn::Set(df, places[j].share));
    hn::StoreU(hn::Add(first, step), df, to);
  }
#endif
}

void mix(const float* upper, const float* lower, float share, int64_t count, float* to) {
  for (int64_t i = 0; i < count; ++i) to[i] = upper[i] + (lower[i] - upper[i]) * share;
}

}  // namespace snug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace snug::kernels {

HWY_EXPORT(squeeze);
HWY_EXPORT(mix);

void squeeze_pixels(const uint8_t* row, const PixelPlace* places, int64_t count, int64_t channels,
                    float* to) noexcept {
  HWY_DYNAMIC_DISPATCH(squeeze)(row, places, count, channels, to);
}

void mix_rows(const float* upper, const float* lower, float share, int64_t count,
              float* to) noexcept {
  HWY_DYNAMIC_DISPATCH(mix)(upper, lower, share, count, to);
}

}  // namespace snug::kernels
#endif

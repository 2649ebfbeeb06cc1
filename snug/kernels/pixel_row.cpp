#include "snug/kernels/pixel_row.h"

#include <algorithm>

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

void squeeze_pairs(const uint8_t* row, const PixelPair* pairs, int64_t count, int64_t channels,
                   float* to) {
  for (int64_t j = 0; j < count; j += 2, ++pairs, to += 2 * channels) {
    const uint8_t* from = row + pairs->at;
#if HWY_MAX_BYTES >= 32
    const hn::FixedTag<float, 8> df;
    const hn::FixedTag<int32_t, 8> di;
    const hn::FixedTag<uint8_t, 8> half;
    const hn::FixedTag<uint8_t, 16> du8;
    const auto bytes = hn::TableLookupBytes(hn::LoadU(du8, from), hn::LoadU(du8, pairs->bytes));
    const auto first = hn::ConvertTo(df, hn::PromoteTo(di, hn::LowerHalf(half, bytes)));
    const auto second = hn::ConvertTo(df, hn::PromoteTo(di, hn::UpperHalf(half, bytes)));
    const auto step = hn::Mul(hn::Sub(second, first), hn::LoadU(df, pairs->share));
    hn::StoreU(hn::Add(first, step), df, to);
#else
    for (int64_t i = 0; i < 2 * channels; ++i) {
      const float first = from[pairs->bytes[i]], second = from[pairs->bytes[8 + i]];
      to[i] = first + (second - first) * pairs->share[i];
    }
#endif
  }
}

void mix(const float* upper, const float* lower, float share, int64_t count, float* to) {
  for (int64_t i = 0; i < count; ++i) to[i] = upper[i] + (lower[i] - upper[i]) * share;
}

}  // namespace snug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace snug::kernels {

HWY_EXPORT(squeeze);
HWY_EXPORT(squeeze_pairs);
HWY_EXPORT(mix);

bool pair_pixels(const PixelPlace* places, int64_t count, int64_t channels,
                 PixelPair* pairs) noexcept {
  if (channels != 3 && channels != 4) return false;
  for (int64_t j = 0; j < count; j += 2, ++pairs) {
    const PixelPlace two[] = {places[j], places[std::min(j + 1, count - 1)]};
    *pairs = {.at = std::min({two[0].first, two[0].second, two[1].first, two[1].second})};
    for (int64_t i = 0; i < 2 * channels; ++i) {
      const PixelPlace& place = two[i / channels];
      const auto channel = static_cast<int32_t>(i % channels);
      const int32_t first = place.first + channel - pairs->at;
      const int32_t second = place.second + channel - pairs->at;
      if (std::max(first, second) >= 16) return false;
      pairs->bytes[i] = static_cast<uint8_t>(first);
      pairs->bytes[8 + i] = static_cast<uint8_t>(second);
      pairs->share[i] = place.share;
    }
  }
  return true;
}

void squeeze_pixel_pairs(const uint8_t* row, const PixelPair* pairs, int64_t count,
                         int64_t channels, float* to) noexcept {
  HWY_DYNAMIC_DISPATCH(squeeze_pairs)(row, pairs, count, channels, to);
}

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

#include "snug/kernels/pooled_gather.h"

#include "snug/kernels/simd.h"

#ifndef SNUG_KERNELS_POOLED_GATHER_ONCE_
#define SNUG_KERNELS_POOLED_GATHER_ONCE_
namespace snug {

// Sums of so many channels are all that registers hold.
constexpr int64_t kPickedChannels = 3;
inline int64_t channel_groups(int64_t channels) {
  return (channels + kPickedChannels - 1) / kPickedChannels;
}

}  // namespace snug
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "snug/kernels/pooled_gather.cpp"
#include <hwy/foreach_target.h>
//
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace snug::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// A table that pixels are picked from has to hold 4 x 4 of them.
#if HWY_TARGET <= HWY_AVX3
constexpr bool kPicks = true;
using D = hn::FixedTag<float, kPickedFilters>;
using DI = hn::RebindToSigned<D>;
using V = hn::Vec<D>;
constexpr int kTaps = 9;

// The 4 x 4 pixels of one channel from here on.
HWY_INLINE V Square(const float* at, int64_t row_stride) {
  const hn::FixedTag<float, 4> row;
  const hn::FixedTag<float, 8> two;
  const auto upper = hn::Combine(two, hn::LoadU(row, at + row_stride), hn::LoadU(row, at));
  at += 2 * row_stride;
  const auto lower = hn::Combine(two, hn::LoadU(row, at + row_stride), hn::LoadU(row, at));
  return hn::Combine(D(), lower, upper);
}

// Where the first of nine pixels stands in a square, by the place of the winner.
HWY_INLINE hn::Vec<DI> FirstPixels(const uint8_t* places) {
  const DI di;
  const auto place = hn::PromoteTo(di, hn::LoadU(hn::Rebind<uint8_t, DI>(), places));
  return hn::Add(place, hn::And(place, hn::Set(di, 2)));  // The second row begins at 4.
}

HWY_INLINE void Put(V sum, bool add, float* to) {
  const D d;
  hn::StoreU(add ? hn::Add(hn::LoadU(d, to), sum) : sum, d, to);
}

// Of kPickedFilters filters and so many channels.
template <int kChannels>
void PickedTask(const WindowBand& band, const float* planes, const uint8_t* places, const float* dy,
                bool add, float* dw) {
  const D d;
  const DI di;
  V sum[kChannels][kTaps];
#pragma GCC unroll 27
  for (int i = 0; i < kChannels * kTaps; ++i) sum[i / kTaps][i % kTaps] = hn::Zero(d);
  for (int64_t row = 0; row < band.rows; ++row) {
    const float* at = planes + 2 * row * band.pixel_columns();
    for (int64_t column = 0; column < band.columns; ++column, at += 2) {
      V square[kChannels];
#pragma GCC unroll 3
      for (int c = 0; c < kChannels; ++c)
        square[c] = Square(at + c * band.plane(), band.pixel_columns());
      const auto first = FirstPixels(places);
      const V passed = hn::LoadU(d, dy);
#pragma GCC unroll 9
      for (int tap = 0; tap < kTaps; ++tap) {
        const auto from = hn::IndicesFromVec(d, hn::Add(first, hn::Set(di, tap / 3 * 4 + tap % 3)));
#pragma GCC unroll 3
        for (int c = 0; c < kChannels; ++c)
          sum[c][tap] = hn::MulAdd(hn::TableLookupLanes(square[c], from), passed, sum[c][tap]);
      }
      places += band.filters;
      dy += band.filters;
    }
  }
  for (int tap = 0; tap < kTaps; ++tap) {
    for (int c = 0; c < kChannels; ++c)
      Put(sum[c][tap], add, dw + (tap * band.channels + c) * band.filters);
  }
}

// Of kPickedFilters filters, in four chains: a sum takes some cycles to be ready for the next one.
void BiasTask(const WindowBand& band, const float* dy, bool add, float* dbias) {
  const D d;
  V sum[4] = {hn::Zero(d), hn::Zero(d), hn::Zero(d), hn::Zero(d)};
  const int64_t windows = band.rows * band.columns;
  for (int64_t w = 0; w < windows; ++w)
    sum[w % 4] = hn::Add(sum[w % 4], hn::LoadU(d, dy + w * band.filters));
  Put(hn::Add(hn::Add(sum[0], sum[1]), hn::Add(sum[2], sum[3])), add, dbias);
}
#else
constexpr bool kPicks = false;
template <int>
void PickedTask(const WindowBand&, const float*, const uint8_t*, const float*, bool, float*) {}
void BiasTask(const WindowBand&, const float*, bool, float*) {}
#endif

bool Picks() { return kPicks; }

void PickedTasks(const WindowBand& band, const uint8_t* places, const float* dy, int64_t first,
                 int64_t last, bool add, float* dw, float* dbias) {
  const int64_t groups = channel_groups(band.channels);
  for (int64_t task = first; task < last; ++task) {
    const int64_t filter = task / groups * kPickedFilters;
    const int64_t channel = task % groups * kPickedChannels, left = band.channels - channel;
    const auto run = left >= 3 ? PickedTask<3> : left == 2 ? PickedTask<2> : PickedTask<1>;
    run(band, band.planes + channel * band.plane(), places + filter, dy + filter, add,
        dw + channel * band.filters + filter);
    if (channel == 0 && dbias != nullptr) BiasTask(band, dy + filter, add, dbias + filter);
  }
}

}  // namespace snug::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace snug {

HWY_EXPORT(Picks);
HWY_EXPORT(PickedTasks);

int64_t picked_tasks(const WindowBand& band) {
  return band.filters / kPickedFilters * channel_groups(band.channels);
}

bool picks_pixels() { return HWY_DYNAMIC_DISPATCH(Picks)(); }

void picked_weights(const WindowBand& band, const uint8_t* places, const float* dy, int64_t first,
                    int64_t last, bool add, float* dw, float* dbias) noexcept {
  HWY_DYNAMIC_DISPATCH(PickedTasks)(band, places, dy, first, last, add, dw, dbias);
}

}  // namespace snug
#endif

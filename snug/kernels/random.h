// Random arrays by counter: a value depends on the key, the row's position and the element's place
// in the row, and on nothing else. So rows can be drawn in any order, split over threads and
// micro-batches, or drawn again, with the same result.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace snug::kernels {

// Who draws: the run's seed, a hash of the drawing layer's path, the epoch, and which of the
// layer's draws in a step this is (below 2^16).
struct RandomKey {
  uint64_t seed = 0;
  uint64_t stream = 0;
  uint32_t epoch = 0;
  uint32_t call = 0;
};

// Rows of `columns` elements (below 2^34); row r stands at `position` + r in the epoch (below
// 2^48).
struct RandomRows {
  RandomKey key;
  uint64_t position = 0;
  int64_t rows = 0;
  int64_t columns = 0;
};

// In [low, high), multiples of 2^-24 of the range. (Rounding may give `high` when it is not 1.)
void random_uniform(const RandomRows& where, float low, float high, float* y) noexcept;

// Box-Muller; no draw is further than 5.8 deviations from the mean.
void random_normal(const RandomRows& where, float mean, float deviation, float* y) noexcept;

// Normal, given that it is within two deviations: by the inverse of the distribution, so that each
// element takes exactly one draw.
void random_truncated_normal(const RandomRows& where, float mean, float deviation,
                             float* y) noexcept;

// A rate as it is met: of 65,536 draws so many drop their element. The scale of the others goes
// with that, so that the mean stays.
struct DropRate {
  explicit DropRate(float rate)
      : threshold(
            std::min<int32_t>(65535, static_cast<int32_t>(std::lround(double{rate} * 65536)))),
        scale(static_cast<float>(65536.0 / (65536 - threshold))) {}

  int32_t threshold;
  float scale;
};

// y = kept ? x / (1 - rate) : 0. The gradient is the same call on dy. `rate` is in [0, 1) and is
// taken to the nearest multiple of 2^-16 below 1; at rate 0 all is kept. A NaN that is dropped
// becomes 0, as in Keras.
void dropout(const RandomRows& where, float rate, const float* x, float* y) noexcept;

// The factors 0 or 1 / (1 - rate) themselves, for masks that are broadcast.
void dropout_mask(const RandomRows& where, float rate, float* y) noexcept;

}  // namespace snug::kernels

// Batch normalisation in pieces, so that what stands before and after it can run part by part of
// the rows: only the sums join all rows.
#pragma once

#include "snug/graph/graph.h"
#include "snug/kernels/norm.h"
#include "snug/ops/ops.h"

namespace snug::ops {

// What is known of each channel, as a value [kCount, channels].
struct ChannelStatistics {
  enum Row { kMean, kRstd, kVariance, kInverseCount, kCount };

  const float* data = nullptr;
  int64_t channels = 0;

  const float* row(Row row) const { return data + row * channels; }
};

// Of x [..., channels] over all other axes. rstd is 1 / sqrt(variance + epsilon); the inverse of
// the number of elements is the last row.
Value batch_statistics(Value x, float epsilon);

// y = (x - mean) * rstd * gamma + beta. `of_batch` says that the statistics are x's own, so that
// its gradient flows through them too; otherwise they are constants.
Value batch_normalise(Value x, Value statistics, const BatchNormOptions& options, bool of_batch);

// Whether it is the op that batch_normalise adds last: element by element, from (x, scale, shift).
bool is_batch_normalise(const Op& op);

// What batch_normalise read.
struct BatchNormInputs {
  Value x, statistics;
  Value gamma;  // May be empty.
  Value scale;  // gamma * rstd
  Value shift;  // beta - mean * scale
};

// The gradients of x, gamma and beta, given that of y, or that of the function of y that `after`
// names: its slope is found again from x, so that no pass over dy is spent on it.
struct BatchNormGradients {
  Value dx, dgamma, dbeta;
};
BatchNormGradients batch_norm_gradients(const BatchNormInputs& in, Value dy, bool of_batch,
                                        kernels::After after = kernels::After::nothing);

}  // namespace snug::ops

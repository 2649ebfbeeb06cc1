// How large an update can become, from a few numbers: the guard's cheap look before it commits.
#pragma once

#include "snug/ops/update_rule.h"

namespace snug::ops {

// What is known of one update: largest magnitudes, over all weights.
struct UpdateReaches {
  double gradient = 0;  // Before clipping.
  double weight = 0;
  double slot = 0;
};

struct UpdateScalars {
  double learning_rate = 0;
  int64_t iterations = 0;  // Before this update.
  double product = 1;      // Nadam's, before this update.
  double clip_value = 0;   // Infinity where nothing is clipped.
  double weight_decay = 0;
};

// No number that the update writes, or forms on its way, is larger in magnitude than this; infinity
// where no bound is known. It holds for slots that the rule itself has made from finite gradients:
// second moments are not negative.
double update_bound(const UpdateRule& rule, const UpdateScalars& scalars,
                    const UpdateReaches& reaches);

// Below this, rounding included, nothing overflows.
inline constexpr double kSafeUpdate = 1e38;

}  // namespace snug::ops

// The nodes of an optimizer: all variables of a model in one node each. They commit state, so they
// run behind the guard, in the order in which they were added.
#pragma once

#include <limits>
#include <vector>

#include "snug/graph/graph.h"
#include "snug/ops/update_rule.h"

namespace snug::ops {

// Whether a gradient is the list of distinct rows of a table with their sums
// (Traits::row_gradient).
bool is_row_gradient(Value gradient);

// One weight, its gradient and its slots.
struct UpdateSegment {
  Value weight;    // A float32 variable.
  Value gradient;  // Of the weight's type, or a row gradient of a weight [entries, dim].
  Values slots;    // The rule's, in its order: variables of the weight's type.
  // Of a row gradient, where wants_touched() says so: a variable uint8 [entries], 1 for each row
  // that ever had a gradient. Rows with 0 are taken to have slots of 0; all 1 is always right.
  Value touched;
  bool decays = true;  // Whether weight_decay applies to it.
};

struct UpdateOptions {
  UpdateRule rule;
  Value learning_rate;  // float32 []
  Value iterations;     // A variable int64 []: the updates so far. It is read only.
  Value scales;         // float32 [segments]: factors of the gradients; may be empty.
  Value product;        // A variable float32 [], for Nadam; otherwise empty.
  double clip_value = std::numeric_limits<double>::infinity();
  double weight_decay = 0;
};

// Whether the segment of a row gradient needs `touched`: not if a row without a gradient never
// changes, by its rule or because the rule is lazy.
bool wants_touched(const UpdateRule& rule, bool decays);

// Scales and clips the gradients, decays and updates the weights, in one pass. A row gradient has
// the effect of the dense gradient whose other rows are 0 (a scale that is not finite spoils the
// listed rows only), but costs no dense gradient, and rows that never had one are left alone where
// they would not change. The result, float32 [2], is the largest |weight| and |slot| written; NaN
// if a NaN was.
Value update(const std::vector<UpdateSegment>& segments, const UpdateOptions& options);

// The sum of the squares of each gradient: float64 [gradients]. With SumOrder::fixed the bits do
// not depend on threads; with `any` a product may add up what it has in registers, in its own
// order.
enum class SumOrder { fixed, any };
Value gradient_norms(const Values& gradients, SumOrder order = SumOrder::fixed);
// Of the same node: the largest |element| of each gradient, float32 [gradients]; NaN if it has a
// NaN.
Value largest_magnitudes(Value square_norms);

// The largest |element| of each value (float32 or float64), float32 [values]; NaN if it has a NaN.
Value largest_elements(const Values& values);

// The factor of each gradient, float32 [gradients], that clips its norm (or the norm of all
// together, with `global`) to clip_norm, from gradient_norms. As in Keras: an infinite norm makes
// the finite elements 0 and the infinite ones NaN; with `global`, every norm that is not finite
// makes all NaN.
Value clip_scales(Value square_norms, double clip_norm, bool global);

// average = momentum * average + (1 - momentum) * weight, with momentum 0 at the first update; then
// weight = average at every overwrite_frequency-th update, if that is not 0.
struct AverageOptions {
  Value iterations;
  double momentum = 0.99;
  int64_t overwrite_frequency = 0;
};
void update_averages(const Values& weights, const Values& averages, const AverageOptions& options);

// iterations += 1, for a variable int64 [].
void advance(Value iterations);

}  // namespace snug::ops

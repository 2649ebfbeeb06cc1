// Pieces that several losses are made of.
#pragma once

#include "snug/nn/tracer.h"
#include "snug/ops/ops.h"

namespace snug {

// Along the last axis; the mean of values [rows] is themselves.
inline Value last_mean(Value x) { return x.shape().rank() < 2 ? x : ops::mean(x, {.axes = {-1}}); }
inline Value last_sum(Value x) { return ops::sum(x, {.axes = {-1}}); }

inline Value number(Value like, float value) { return ops::constant(like.graph(), {}, value); }

inline Value one_minus(Value x) { return ops::add_scalar(ops::negate(x), 1); }

// t (1 - smoothing) + smoothing / parts
inline Value smoothed(Value targets, double smoothing, double parts) {
  if (smoothing == 0) return targets;
  const auto keep = static_cast<float>(1 - smoothing);
  return ops::add_scalar(ops::multiply_scalar(targets, keep),
                         static_cast<float>(smoothing / parts));
}

// The logits of predictions that an activation made, where it is remembered; otherwise empty.
inline Value known_logits(const Tracer& tracer, Value predictions, Logits::From from) {
  const std::optional<Logits> known = tracer.logits(predictions);
  return known && known->from == from ? known->value : Value();
}

// Throws Error unless it is from 0 to 1.
void check_smoothing(double smoothing);
// Classes are the last axis.
void check_axis(int64_t axis, const std::string& name);

}  // namespace snug

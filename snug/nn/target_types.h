// Which targets go with which predictions: shared by losses and metrics.
#pragma once

#include <string_view>

#include "snug/tensor/tensor.h"

namespace snug {

// Targets that match the predictions element by element; a row of [] goes with one of [1], and
// back. Throws Error, in the name of `who`, for any other row: targets are not broadcast.
Type matching_targets(const Type& predictions, const Shape& target_row, std::string_view who);

// Labels: int32, of the predictions' shape without its last axis, or with a last axis of one.
Type label_targets(const Type& predictions, const Shape& target_row, std::string_view who);

// What Keras takes "accuracy" and "crossentropy" for (keras.md 1.8).
enum class TargetKind { binary, categorical, sparse };
TargetKind target_kind(const Type& predictions, const Shape& target_row);

}  // namespace snug

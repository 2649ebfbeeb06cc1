#pragma once

#include "snug/nn/compile.h"
#include "snug/nn/network.h"

namespace snug {

// Throws Error on combinations that train without a word elsewhere and never learn: softmax on one
// unit, a categorical crossentropy on one output, a crossentropy on values that are no
// probabilities and not said to be logits (a product with weights, or an activation beyond 0 to 1).
void lint(Network& network, const CompileOptions& options);

// Whether the first output ends in softmax or sigmoid.
bool gives_probabilities(Network& network);

}  // namespace snug

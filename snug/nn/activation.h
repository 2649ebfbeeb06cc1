// Activations by Keras's names.
#pragma once

#include <span>
#include <string_view>

#include "snug/nn/tracer.h"

namespace snug {

// Adds the nodes of the activation. The outputs of softmax and sigmoid remember their logits
// (Tracer::logits). Throws Error that names the nearest right word.
Value apply_activation(Tracer& tracer, std::string_view name, Value x);

// Throws the same Error; for layers, as soon as they are made.
void check_activation(std::string_view name);

std::span<const std::string_view> activation_names();

}  // namespace snug

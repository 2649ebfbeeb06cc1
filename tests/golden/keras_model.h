// Models for tests from Keras's serialized ones (keras.md 3.2).
#pragma once

#include "keras_config.h"
#include "snug/train/model.h"

namespace snug::testing {

// A Sequential or Functional model, with its names. Throws Error for a layer that Snug lacks.
Model model_of(const Json& model);

// Losses, metrics and optimizer for the model's outputs. Throws Error for what Snug lacks.
CompileOptions compile_options_of(const Json& compile_config, const Model& model);

}  // namespace snug::testing

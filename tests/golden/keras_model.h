// Models for tests from Keras's serialized ones (keras.md 3.2).
#pragma once

#include "keras_config.h"
#include "snug/interop/compile_config.h"
#include "snug/interop/network_config.h"
#include "snug/train/model.h"

namespace snug::testing {

inline Model model_of(const Json& model) { return Model(read_network(sorted(model))); }

inline CompileOptions compile_options_of(const Json& compile_config, const Model& model) {
  return read_compile(sorted(compile_config), model.network()).value();
}

}  // namespace snug::testing

// Loss, metrics and optimizer from Keras's compile_config and back.
#pragma once

#include <optional>

#include "snug/interop/json.h"
#include "snug/nn/compile.h"
#include "snug/nn/network.h"

namespace snug {

// What `compile` takes for this network; nothing where the model was not compiled. Throws Error
// that names what Snug lacks. Before Keras 3, a plain list of metrics was for every output.
std::optional<CompileOptions> read_compile(const Json& compile_config, const Network& network,
                                           bool before_keras_3 = false);

OrderedJson write_compile(const CompileOptions& options, const Network& network);

// {"class_name": "Adam", "config": {...}}, as all versions write it.
Optimizer read_optimizer(const Json& json);
OrderedJson write_optimizer(const Optimizer& optimizer);

}  // namespace snug

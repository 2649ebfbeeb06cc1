// Networks from Keras's configs (keras.md 3.2) and back.
#pragma once

#include <memory>

#include "snug/interop/call_count.h"
#include "snug/interop/json.h"
#include "snug/nn/network.h"

namespace snug {

// A Sequential or Functional model with its names, from what Keras 2 or 3 wrote. Its weights are
// shapes only. Throws Error that names the layer and its class for what Snug lacks, for shapes that
// no machine could hold, and for more calls than CallCount allows.
std::shared_ptr<Network> read_network(const Json& model);
// The same as part of another, whose calls were counted so far.
std::shared_ptr<Network> read_network(const Json& model, CallCount& calls);

// The same as Keras 3 writes it, without compile_config. The network has shapes.
OrderedJson write_network(Network& network);

// One layer, as it stands in a network's list; nested models too.
Layer read_layer(const Json& layer, CallCount& calls);
OrderedJson write_layer(LayerDefinition& layer);

// [null, 28, 28, 1]
OrderedJson shape_json(const Shape& shape);

}  // namespace snug

// Networks from Keras's configs (keras.md 3.2) and back.
#pragma once

#include <functional>
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
// The same with an empty list of layers, which is at layers_of(), and these one by one: a deep
// network's are megabytes when all of them stand there at once. Of a layer that is a network its
// frame is given, and the network itself.
OrderedJson write_frame(Network& network);
OrderedJson& layers_of(OrderedJson& frame);
using VisitLayer = std::function<void(OrderedJson layer, Network* nested)>;
void visit_layers(Network& network, const VisitLayer& visit);

// One layer, as it stands in a network's list; nested models too.
Layer read_layer(const Json& layer, CallCount& calls);

// [null, 28, 28, 1]
OrderedJson shape_json(const Shape& shape);

}  // namespace snug

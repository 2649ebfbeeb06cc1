// A network's description as text (keras.md 3.2). It is written layer by layer: at no time more
// than one of them stands there as JSON, which takes ten times the memory of its text.
#pragma once

#include <string>

#include "snug/interop/json.h"
#include "snug/nn/network.h"

namespace snug {

// As Keras writes it, in ASCII.
std::string dumped(const OrderedJson& json);

// The text of write_network(); `frame` is of write_frame(), and may have more keys.
std::string network_text(Network& network, OrderedJson frame);

// About so long is that text, where layers have few settings and short names.
size_t network_text_bytes(const Network& network);

}  // namespace snug

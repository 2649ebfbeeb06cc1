// An update that is only tried: block by block on copies, so that nothing is written.
#pragma once

#include <optional>

#include "snug/graph/graph.h"

namespace snug::ops {

// The first number that an update would write and that is not finite.
struct UpdateFault {
  int weight = 0;  // The node's input: the weight.
  int slot = -1;   // Which slot of the weight; -1: the weight itself.
  int64_t element = 0;
  float value = 0;     // What would be written.
  float gradient = 0;  // Of this element, before clipping.
};

// `in` are the update node's inputs as they stand before it runs.
std::optional<UpdateFault> try_update(const Node& update, const void* const* in);

}  // namespace snug::ops

// What passes ask about element-wise functions of two values.
#pragma once

#include "snug/ops/ops.h"

namespace snug::ops {

bool is_add(const Op& op);
// Not element-wise itself; made for those that are.
bool is_broadcast_to(const Op& op);

}  // namespace snug::ops

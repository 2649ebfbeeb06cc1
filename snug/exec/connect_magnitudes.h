// Gradients are not read again for their norms where the product that makes them notes them.
#pragma once

#include "snug/plan/instantiate.h"

namespace snug {

// Tells the kernels that take magnitudes where those of their inputs are noted. May allocate.
void connect_magnitudes(const Instance& instance);

}  // namespace snug

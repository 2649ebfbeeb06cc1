#pragma once

#include "snug/exec/program.h"
#include "snug/train/step_graph.h"

namespace snug {

// About the loss that a constant prediction has, by the targets in the program's slots: the spread
// of the targets for errors, the logarithm of the classes for crossentropies, 1 for losses that it
// does not know. Those of several outputs add up with their weights.
double trivial_loss(const Compiled& compiled, const StepGraph& step, const Program& program);

}  // namespace snug

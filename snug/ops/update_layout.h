// The arguments of an update node: which of its inputs is what.
#pragma once

#include <vector>

#include "snug/graph/op.h"
#include "snug/ops/update_rule.h"

namespace snug::ops {

// Where the arguments of one segment stand among the node's inputs: weight, slots, then gradient;
// or weight, slots, sums, indices, count, and touched where it is wanted.
struct UpdatePlace {
  int weight = 0;
  int gradient = 0;
  bool rows = false;
  int touched = -1;
  bool decays = true;
};

// The first two inputs are the learning rate and the count of updates.
struct UpdateLayout {
  UpdateRule rule;
  float clip_value = 0;
  float weight_decay = 0;
  int scales = -1;
  int product = -1;
  std::vector<UpdatePlace> places;
};

// Of an update node; null for any other op.
const UpdateLayout* update_layout(const Op& op);

}  // namespace snug::ops

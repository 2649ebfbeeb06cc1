// Which array of a file belongs to which variable, and reading them in.
#pragma once

#include <string>
#include <vector>

#include "snug/interop/hdf5.h"
#include "snug/nn/network.h"

namespace snug {

// The weights of one layer and what the file has for them, in order.
struct WeightMatch {
  std::string layer;
  Variables variables;
  std::vector<std::string> paths;            // In the file.
  std::vector<const Hdf5Dataset*> datasets;  // As many as the file has.
};

// Of Keras 3's files: by place, or by the names that layers have in the file.
std::vector<WeightMatch> match_weights(const Hdf5Group& root, const Network& network, bool by_name);

// Of legacy files: the layers that have weights, in their order or by name. `weights` is the group
// with the attribute layer_names.
std::vector<WeightMatch> match_legacy_weights(const Hdf5Group& weights, const Network& network,
                                              bool by_name, const std::string& where);

// The arrays that hold the optimizer's variables, in order; empty where there are none.
struct OptimizerArrays {
  std::vector<const Hdf5Dataset*> datasets;
};
OptimizerArrays optimizer_arrays(const Hdf5Group& root);
OptimizerArrays legacy_optimizer_arrays(const Hdf5Group& root);

// Whether an array can be read into a tensor of this type: the shape is the same, and so is the
// type, but for the width of integers.
bool fits(const Hdf5Dataset& dataset, const Type& type);

// Throws Error that names the layer, the weight, and both shapes where they do not fit. With
// `skip_mismatch`, leaves such layers out instead, with a warning.
void check_matches(std::vector<WeightMatch>& matches, bool skip_mismatch, const std::string& where);

// Straight into the tensor's memory.
void read_array(const Hdf5Dataset& dataset, const Tensor& into);
void read_matches(const std::vector<WeightMatch>& matches);

}  // namespace snug

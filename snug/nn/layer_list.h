// Every layer by name, for run files and for loading.
#pragma once

#include <span>
#include <string_view>

#include "snug/nn/layer.h"

namespace snug {

struct LayerEntry {
  std::string_view class_name;  // Keras's.
  // The setting that a run file may give alone (`- dropout: 0.5`); empty: there is none.
  std::string_view main_setting;
  // With Keras's defaults. Settings without one have a number that the layer refuses when it is
  // built (units: 0), unless they were set before.
  Layer (*make)();
};

std::span<const LayerEntry> layer_list();

// By Keras's class name or the same in snake case: "MaxPooling2D", "max_pooling2d". Throws Error
// that names the nearest right word.
const LayerEntry& find_layer(std::string_view name);

}  // namespace snug

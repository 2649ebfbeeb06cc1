// Losses and metrics by name: for models that are loaded, and for words in place of objects.
#pragma once

#include <string_view>
#include <vector>

#include "snug/nn/loss.h"
#include "snug/nn/metric.h"

namespace snug {

// A new one with Keras's defaults, by its Keras class name; null where there is no such class.
LossPtr default_loss(std::string_view class_name);
MetricPtr default_metric(std::string_view class_name);

// The class names that default_loss and default_metric know.
std::vector<std::string_view> loss_classes();
std::vector<std::string_view> metric_classes();

// By Keras's words: class names, snake case, short forms ("mse", "bce", ...). Throws Error that
// names the nearest right word.
LossPtr loss_by_word(std::string_view word);
MetricPtr metric_by_word(std::string_view word);

}  // namespace snug

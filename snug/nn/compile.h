// What `compile` takes: the loss, the metrics and the optimizer of a model.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "snug/nn/loss.h"
#include "snug/nn/metric.h"
#include "snug/optim/optimizer.h"

namespace snug {

// One loss for all outputs, or one for each, in the order of the outputs.
class LossSpec {
 public:
  LossSpec() = default;
  LossSpec(const char* name) : losses_{Loss(name)} {}                 // NOLINT: .loss = "mse"
  LossSpec(const std::string& name) : losses_{Loss(name)} {}          // NOLINT
  LossSpec(const Loss& loss) : losses_{loss} {}                       // NOLINT
  LossSpec(std::vector<Loss> losses) : losses_(std::move(losses)) {}  // NOLINT
  LossSpec(std::initializer_list<Loss> losses) : losses_(losses) {}   // .loss = {"mse", "mae"}

  const std::vector<Loss>& losses() const { return losses_; }

 private:
  std::vector<Loss> losses_;
};

struct CompileOptions {
  Optimizer optimizer = "rmsprop";
  LossSpec loss;
  std::vector<double> loss_weights;  // Of each output; empty: all 1.
  // For every output; with several outputs, output_metrics gives each its own.
  std::vector<Metric> metrics;
  std::vector<Metric> weighted_metrics;
  std::vector<std::vector<Metric>> output_metrics;
};

}  // namespace snug

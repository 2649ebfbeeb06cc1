#include "snug/train/dead_units.h"

#include <algorithm>

#include "snug/base/log.h"
#include "snug/exec/program.h"
#include "snug/ops/update_layout.h"

namespace snug {

DeadUnits::DeadUnits(const StepGraph& step) {
  if (step.updates.empty()) return;
  const Node& node = *step.updates[0].nodes.reach.producer();
  for (const ops::UpdatePlace& place : ops::update_layout(node.op())->places) {
    const Value weight = node.input(place.weight);
    const Shape& shape = weight.shape();
    if (place.rows || shape.rank() < 2 || shape[-1] < kLeastUnits) continue;
    layers_.push_back({.weight = weight.name(),
                       .gradient = node.input(place.gradient),
                       .units = shape[-1],
                       .lives = std::vector<bool>(static_cast<size_t>(shape[-1]))});
  }
  warned_of_.resize(layers_.size());
}

void DeadUnits::begin_epoch() {
  looks_ = 0;
  for (Layer& layer : layers_) std::fill(layer.lives.begin(), layer.lives.end(), false);
}

void DeadUnits::look(const Program& program, int64_t step) {
  if ((step & (step - 1)) != 0) return;
  ++looks_;
  for (size_t i = 0; i < layers_.size(); ++i) {
    Layer& layer = layers_[i];
    const auto* gradient = static_cast<const float*>(program.pending(layer.gradient));
    if (gradient == nullptr || warned_of_[i] != 0) continue;
    const int64_t rows = layer.gradient.shape().size() / layer.units;
    for (int64_t unit = 0; unit < layer.units; ++unit) {
      for (int64_t row = 0; row < rows && !layer.lives[unit]; ++row)
        layer.lives[unit] = gradient[row * layer.units + unit] != 0;
    }
  }
}

void DeadUnits::end_epoch(int epoch) {
  if (looks_ < kLeastLooks) return;
  for (size_t i = 0; i < layers_.size(); ++i) {
    const Layer& layer = layers_[i];
    const auto dead = std::count(layer.lives.begin(), layer.lives.end(), false);
    // Where all are, the layer as a whole learns nothing, which Divergence says.
    if (warned_of_[i] != 0 || 4 * dead < 3 * layer.units || dead == layer.units) continue;
    warned_of_[i] = 1;
    log_message(
        LogLevel::warning,
        "{} of the {} units of {} are dead: in epoch {} no row of the batches that were "
        "looked at gave them a gradient; lower the learning rate, or use leaky_relu instead "
        "of relu",
        dead, layer.units, layer.weight, epoch + 1);
  }
}

void DeadUnits::state(StateVisitor& visitor) {
  visitor.visit_as_many("dead_units_warned_of", warned_of_);
}

}  // namespace snug

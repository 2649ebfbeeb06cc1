#include "snug/train/trivial_loss.h"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace snug {

TrivialLoss::TrivialLoss(const Compiled& compiled, const StepGraph& step) {
  constexpr std::array<const char*, 3> kNames = {"count", "mean", "squares"};
  for (size_t i = 0; i < step.targets.size(); ++i) {
    const std::string_view loss = compiled.loss(i)->class_name();
    const Shape& prediction = step.predictions[i].shape();
    Output output{.target = step.targets[i], .weight = std::abs(compiled.loss_weight(i))};
    output.is_root = loss == "MeanAbsoluteError" || loss == "Huber" || loss == "LogCosh";
    if (loss.ends_with("Crossentropy")) {
      const int64_t classes = prediction.rank() > 1 ? prediction[-1] : 1;
      output.fixed = std::log(static_cast<double>(std::max<int64_t>(classes, 2)));
    } else if (step.targets[i].dtype() != DType::float32 ||
               (loss != "MeanSquaredError" && !output.is_root)) {
      output.fixed = 1;
    }
    for (size_t k = 0; k < output.names.size(); ++k)
      output.names[k] = fmt::format("targets.{}.{}", i, kNames[k]);
    outputs_.push_back(std::move(output));
  }
}

// A batch's own mean and squares first, which loops without a division, then both together.
void TrivialLoss::look(const Program& program) {
  for (Output& output : outputs_) {
    if (output.fixed > 0) continue;
    const Tensor targets = program.tensor(output.target);
    output.new_count = 0;
    if (targets.data == nullptr || targets.size() == 0) continue;
    double mean = 0, squares = 0;
    for (const float value : targets.as<float>()) mean += value;
    mean /= static_cast<double>(targets.size());
    for (const float value : targets.as<float>()) squares += (value - mean) * (value - mean);
    output.new_count = static_cast<double>(targets.size());
    output.new_mean = mean;
    output.new_squares = squares;
  }
}

void TrivialLoss::add() {
  for (Output& output : outputs_) {
    if (output.new_count == 0) continue;
    const double count = output.new_count, all = output.count + count;
    const double distance = output.new_mean - output.mean;
    output.squares += output.new_squares + distance * distance * output.count * count / all;
    output.mean += distance * count / all;
    output.count = all;
  }
}

double TrivialLoss::loss() const {
  double total = 0;
  for (const Output& output : outputs_) {
    const double variance = output.count > 0 ? output.squares / output.count : 0;
    const double moving = output.is_root ? std::sqrt(variance) : variance;
    total += output.weight * (output.fixed > 0 ? output.fixed : moving);
  }
  return total;
}

void TrivialLoss::state(StateVisitor& visitor) {
  for (Output& output : outputs_) {
    visitor.visit(output.names[0], output.count);
    visitor.visit(output.names[1], output.mean);
    visitor.visit(output.names[2], output.squares);
  }
}

}  // namespace snug

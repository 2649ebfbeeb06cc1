#include "snug/train/trivial_loss.h"

#include <algorithm>
#include <cmath>
#include <string_view>

namespace snug {
namespace {

double variance(std::span<const float> values) {
  double sum = 0, squares = 0;
  for (const float value : values) {
    sum += value;
    squares += static_cast<double>(value) * value;
  }
  const auto count = static_cast<double>(std::max<size_t>(values.size(), 1));
  return std::max(0.0, squares / count - sum / count * (sum / count));
}

double loss_of_output(std::string_view loss, const Shape& prediction, const Tensor& targets) {
  if (loss.ends_with("Crossentropy")) {
    const int64_t classes = prediction.rank() > 1 ? prediction[-1] : 1;
    return std::log(static_cast<double>(std::max<int64_t>(classes, 2)));
  }
  if (targets.data == nullptr || targets.dtype() != DType::float32) return 1;
  const double spread = variance(targets.as<float>());
  if (loss == "MeanSquaredError") return spread;
  if (loss == "MeanAbsoluteError" || loss == "Huber" || loss == "LogCosh") return std::sqrt(spread);
  return 1;
}

}  // namespace

double trivial_loss(const Compiled& compiled, const StepGraph& step, const Program& program) {
  double total = 0;
  for (size_t i = 0; i < step.targets.size(); ++i) {
    total += std::abs(compiled.loss_weight(i)) * loss_of_output(compiled.loss(i)->class_name(),
                                                                step.predictions[i].shape(),
                                                                program.tensor(step.targets[i]));
  }
  return total;
}

}  // namespace snug

#include "snug/nn/loss.h"

#include "snug/base/error.h"
#include "snug/nn/layer.h"
#include "snug/nn/loss_list.h"
#include "snug/ops/ops.h"

namespace snug {
namespace {

std::vector<int> all_axes(const Shape& shape) {
  std::vector<int> axes(shape.rank());
  for (int axis = 0; axis < shape.rank(); ++axis) axes[axis] = axis;
  return axes;
}

// The elements of one row: what a mean over rows and further axes divides by, beside the rows.
float row_size(const Shape& shape) { return static_cast<float>(shape.size_per_row()); }

// Weights [rows] against values [rows, ...].
Value spread(Value weights, const Shape& values) {
  if (weights.shape() == values) return weights;
  Shape shape = weights.shape();
  while (shape.rank() < values.rank()) shape.push_back(1);
  return ops::reshape(weights, shape);
}

}  // namespace

Loss::Loss(const char* name) : definition_(loss_by_word(name)) {}
Loss::Loss(const std::string& name) : definition_(loss_by_word(name)) {}

Loss make_loss(std::string_view name) { return Loss(loss_by_word(name)); }

Tracer& Loss::current() { return current_tracer(); }

Value LossDefinition::reduced(Tracer& tracer, Value targets, Value predictions,
                              Value weights) const {
  Value losses = values(tracer, targets, predictions);
  const Shape shape = losses.shape();
  if (weights) {
    if (weights.shape().rank() > shape.rank()) {
      throw ShapeError("{}: weights of shape {} do not go with losses of shape {}", name,
                       weights.shape().text(), shape.text());
    }
    weights = spread(weights, shape);
    losses = ops::multiply(losses, weights);
  }
  const Value total = ops::sum(losses, {.axes = all_axes(shape)});
  if (reduction == "sum") return total;
  if (reduction == "mean_with_sample_weight" && weights) {
    return ops::divide_no_nan(total, ops::sum(weights, {.axes = all_axes(weights.shape())}));
  }
  const bool known = reduction == "sum_over_batch_size" || reduction == "mean" ||
                     reduction == "mean_with_sample_weight";
  if (!known) {
    throw Error(
        "{}: the reduction \"{}\" gives no single number to train on; use sum_over_batch_size, "
        "sum, mean or "
        "mean_with_sample_weight",
        name, reduction);
  }
  const Value mean = ops::divide(total, tracer.rows());
  return row_size(shape) == 1 ? mean : ops::multiply_scalar(mean, 1 / row_size(shape));
}

}  // namespace snug

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

Value total_of(Value x) { return ops::sum(x, {.axes = all_axes(x.shape())}); }

// A mask [rows, ...] against values with more axes.
Value spread(Value mask, int rank) {
  if (mask.shape().rank() == rank) return mask;
  Shape shape = mask.shape();
  while (shape.rank() < rank) shape.push_back(1);
  return ops::reshape(mask, shape);
}

// As many axes as the losses, each of their extent or of 1; a column may stand beside [rows], but
// no [rows] beside [rows, steps]: as in Keras.
Value weights_for(const Shape& losses, Value weights, std::string_view loss) {
  Shape shape = weights.shape();
  while (shape.rank() > losses.rank() && shape.extent(-1) == Extent(1)) shape = shape.without(-1);
  bool fits = shape.rank() == losses.rank();
  for (int axis = 0; fits && axis < losses.rank(); ++axis)
    fits = shape.extent(axis) == losses.extent(axis) || shape.extent(axis) == Extent(1);
  if (!fits) {
    throw ShapeError(
        "{}: weights of shape {} do not go with losses of shape {}; give that shape, with 1 along "
        "the axes that a weight is for",
        loss, weights.shape().text(), losses.text());
  }
  return shape == weights.shape() ? weights : ops::reshape(weights, shape);
}

bool is_mean(std::string_view reduction) {
  return reduction == "sum_over_batch_size" || reduction == "mean" ||
         reduction == "mean_with_sample_weight";
}

void check_reduction(std::string_view loss, std::string_view reduction) {
  if (reduction == "sum" || is_mean(reduction)) return;
  throw Error(
      "{}: the reduction \"{}\" gives no single number to train on; use sum_over_batch_size, sum, "
      "mean or mean_with_sample_weight",
      loss, reduction);
}

// As float32 0 and 1; empty where all values count.
Value mask_of(Value of_predictions, Value of_losses) {
  Value mask = of_losses;
  if (of_predictions && of_losses)
    mask = ops::logical_and(spread(of_predictions, of_losses.shape().rank()), of_losses);
  else if (of_predictions)
    mask = of_predictions;
  return mask ? ops::cast(mask, DType::float32) : mask;
}

}  // namespace

Loss::Loss(const char* name) : Loss(std::string(name)) {}
Loss::Loss(const std::string& name) : definition_(loss_by_word(name)), word_(name) {}

Loss make_loss(std::string_view name) { return Loss(loss_by_word(name)); }

Tracer& Loss::current() { return current_tracer(); }

Value LossDefinition::reduced(Tracer& tracer, Value targets, Value predictions,
                              Value weights) const {
  check_reduction(name, reduction);
  Value losses = values(tracer, targets, predictions);
  const Shape shape = losses.shape();
  const int rank = shape.rank();
  Value mask = mask_of(tracer.mask(predictions), counted(targets));
  if (mask && mask.shape().rank() > rank) {
    throw ShapeError("{}: a mask of shape {} does not go with losses of shape {}", name,
                     mask.shape().text(), shape.text());
  }
  if (mask) mask = spread(mask, rank);
  if (weights) weights = weights_for(shape, weights, name);
  const Value factor = mask && weights ? ops::multiply(mask, weights) : mask ? mask : weights;
  const Value total = total_of(factor ? ops::multiply(losses, factor) : losses);
  if (reduction == "sum") return total;
  if (reduction == "mean_with_sample_weight" && factor)
    return ops::divide_no_nan(total, total_of(factor));
  return mean(tracer, total, shape, mask);
}

// The divisor counts every value, or those that the mask lets through: a mask with axes of one
// stands for as many values as these axes have.
Value LossDefinition::mean(Tracer& tracer, Value total, const Shape& shape, Value mask) {
  const auto per_row = static_cast<float>(shape.size_per_row());
  const Value count = mask ? total_of(mask) : tracer.rows();
  const Value mean = mask ? ops::divide_no_nan(total, count) : ops::divide(total, count);
  const float per_count =
      mask ? per_row / static_cast<float>(mask.shape().size_per_row()) : per_row;
  return per_count == 1 ? mean : ops::multiply_scalar(mean, 1 / per_count);
}

}  // namespace snug

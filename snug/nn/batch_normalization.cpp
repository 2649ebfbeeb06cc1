#include "snug/base/error.h"
#include "snug/nn/axes_last.h"
#include "snug/nn/normalization.h"
#include "snug/nn/visit_settings.h"
#include "snug/ops/ops.h"

namespace snug {
namespace {

class BatchNormalizationDefinition final : public UnaryLayer {
 public:
  explicit BatchNormalizationDefinition(const BatchNormalizationOptions& options)
      : options_(options) {}

  std::string_view class_name() const override { return "BatchNormalization"; }
  bool passes_mask() const override { return true; }

  void settings(SettingVisitor& visitor) override {
    visitor.visit("axis", options_.axis);
    visitor.visit("momentum", options_.momentum);
    visitor.visit("epsilon", options_.epsilon);
    visitor.visit("center", options_.center);
    visitor.visit("scale", options_.scale);
    visit_initializer(visitor, "beta_initializer", options_.beta_initializer);
    visit_initializer(visitor, "gamma_initializer", options_.gamma_initializer);
    visit_initializer(visitor, "moving_mean_initializer", options_.moving_mean_initializer);
    visit_initializer(visitor, "moving_variance_initializer", options_.moving_variance_initializer);
    visit_regularizer(visitor, "beta_regularizer", options_.beta_regularizer);
    visit_regularizer(visitor, "gamma_regularizer", options_.gamma_regularizer);
    visit_constraint(visitor, "beta_constraint");
    visit_constraint(visitor, "gamma_constraint");
    visitor.visit("synchronized", synchronized_);
  }

 private:
  void build_for(const Shape& x) override {
    if (x.rank() < 2) {
      throw ShapeError("{}: expected [rows, ..., channels], got {}; put a Reshape layer before it",
                       label(), x.text());
    }
    const Type type{DType::float32, AxesLast({options_.axis}, x, label()).shape()};
    channels_ = type.shape[0];
    if (options_.scale) {
      gamma_ = add_weight({.name = "gamma",
                           .type = type,
                           .initializer = options_.gamma_initializer,
                           .regularizer = options_.gamma_regularizer});
    }
    if (options_.center) {
      beta_ = add_weight({.name = "beta",
                          .type = type,
                          .initializer = options_.beta_initializer,
                          .regularizer = options_.beta_regularizer});
    }
    moving_mean_ = add_weight({.name = "moving_mean",
                               .type = type,
                               .initializer = options_.moving_mean_initializer,
                               .trainable = false});
    moving_variance_ = add_weight({.name = "moving_variance",
                                   .type = type,
                                   .initializer = options_.moving_variance_initializer,
                                   .trainable = false});
  }

  Value apply(Tracer& tracer, Value given) override {
    const AxesLast axes({options_.axis}, given.shape(), label());
    expect_channels(axes.shape(), channels_);
    const Value x = axes.to_end(given);
    const ops::BatchNormOptions options{.epsilon = static_cast<float>(options_.epsilon),
                                        .momentum = options_.momentum,
                                        .gamma = gamma_ ? tracer.value(gamma_) : Value(),
                                        .beta = beta_ ? tracer.value(beta_) : Value()};
    const Value mean = tracer.value(moving_mean_), variance = tracer.value(moving_variance_);
    if (!tracer.training() || !tracer.trains())
      return axes.back(ops::batch_norm_inference(x, mean, variance, options));
    const Value mask = tracer.mask(given);
    if (mask && mask.shape().rank() == x.shape().rank() - 1 && x == given)
      return masked_training(x, mask, options, mean, variance);
    return axes.back(ops::batch_norm_training(x, mean, variance, options));
  }

  // The statistics of the steps that are real, by which all steps are normalised; as in Keras, with
  // its small number below the line.
  Value masked_training(Value x, Value mask, const ops::BatchNormOptions& options,
                        Value moving_mean, Value moving_variance) const {
    constexpr float least = 1e-7f;
    Shape weight_shape = mask.shape();
    weight_shape.push_back(1);
    const Value weight = ops::reshape(ops::cast(mask, DType::float32), weight_shape);
    ops::ReduceOptions over{.axes = {}};
    for (int axis = 0; axis + 1 < x.shape().rank(); ++axis) over.axes.push_back(axis);
    const Value count = ops::add_scalar(ops::sum(weight, over), least);  // [1]
    const Value mean = ops::divide(ops::sum(ops::multiply(x, weight), over), count);
    const Value distance = ops::subtract(x, mean);
    const Value variance =
        ops::divide(ops::sum(ops::multiply(ops::square(distance), weight), over), count);
    move(moving_mean, mean);
    move(moving_variance, variance);
    Value scale = ops::rsqrt(ops::add_scalar(variance, options.epsilon));
    if (options.gamma) scale = ops::multiply(scale, options.gamma);
    const Value y = ops::multiply(distance, scale);
    return options.beta ? ops::add(y, options.beta) : y;
  }

  void move(Value average, Value batch) const {
    const auto kept = static_cast<float>(options_.momentum);
    const auto taken = static_cast<float>(1 - options_.momentum);
    ops::assign(average,
                ops::add(ops::multiply_scalar(average, kept), ops::multiply_scalar(batch, taken)));
  }

  BatchNormalizationOptions options_;
  bool synchronized_ = false;  // One process has nobody to wait for.
  int64_t channels_ = 0;
  VariablePtr gamma_, beta_, moving_mean_, moving_variance_;
};

}  // namespace

Layer BatchNormalization(const BatchNormalizationOptions& options) {
  return named_layer<BatchNormalizationDefinition>(options, options);
}

}  // namespace snug

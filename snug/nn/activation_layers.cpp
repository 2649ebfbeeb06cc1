#include "snug/nn/activation_layers.h"

#include <limits>

#include "snug/base/error.h"
#include "snug/nn/activation.h"
#include "snug/nn/visit_settings.h"
#include "snug/ops/ops.h"

namespace snug {
namespace {

// What is added to a masked element before a softmax, as in Keras.
constexpr float kMasked = -1e9f;

class ActivationLayer : public UnaryLayer {
 public:
  bool passes_mask() const final { return true; }
};

class ActivationDefinition final : public ActivationLayer {
 public:
  explicit ActivationDefinition(std::string_view activation) : activation_(activation) {
    check_activation(activation_);
  }
  std::string_view class_name() const override { return "Activation"; }
  void settings(SettingVisitor& visitor) override { visitor.visit("activation", activation_); }

 private:
  Value apply(Tracer& tracer, Value x) override { return apply_activation(tracer, activation_, x); }

  std::string activation_;
};

class IdentityDefinition final : public ActivationLayer {
 public:
  std::string_view class_name() const override { return "Identity"; }
  void settings(SettingVisitor&) override {}

 private:
  bool keeps_dtype() const override { return true; }
  Value apply(Tracer&, Value x) override { return x; }
};

class ReLUDefinition final : public ActivationLayer {
 public:
  explicit ReLUDefinition(const ReLUOptions& options) : options_(options) { check(); }
  std::string_view class_name() const override { return "ReLU"; }
  void settings(SettingVisitor& visitor) override {
    visitor.visit("max_value", options_.max_value);
    visitor.visit("negative_slope", options_.negative_slope);
    visitor.visit("threshold", options_.threshold);
    check();
  }

 private:
  void check() const {
    if (options_.max_value.value_or(0) >= 0 && options_.negative_slope >= 0 &&
        options_.threshold >= 0)
      return;
    throw Error("{}: max_value, negative_slope and threshold must be 0 or more", label());
  }
  Value apply(Tracer&, Value x) override {
    ops::ReluOptions options{.negative_slope = static_cast<float>(options_.negative_slope),
                             .threshold = static_cast<float>(options_.threshold)};
    if (options_.max_value) options.max_value = static_cast<float>(*options_.max_value);
    return ops::relu(x, options);
  }

  ReLUOptions options_;
};

class LeakyReLUDefinition final : public ActivationLayer {
 public:
  explicit LeakyReLUDefinition(double negative_slope) : negative_slope_(negative_slope) {}
  std::string_view class_name() const override { return "LeakyReLU"; }
  void settings(SettingVisitor& visitor) override {
    visitor.visit("negative_slope", negative_slope_);
  }

 private:
  Value apply(Tracer&, Value x) override {
    return ops::leaky_relu(x, static_cast<float>(negative_slope_));
  }

  double negative_slope_;
};

class ELUDefinition final : public ActivationLayer {
 public:
  explicit ELUDefinition(double alpha) : alpha_(alpha) {}
  std::string_view class_name() const override { return "ELU"; }
  void settings(SettingVisitor& visitor) override { visitor.visit("alpha", alpha_); }

 private:
  Value apply(Tracer&, Value x) override { return ops::elu(x, static_cast<float>(alpha_)); }

  double alpha_;
};

class SoftmaxDefinition final : public ActivationLayer {
 public:
  explicit SoftmaxDefinition(int64_t axis) : axis_(axis) {}
  std::string_view class_name() const override { return "Softmax"; }
  void settings(SettingVisitor& visitor) override { visitor.visit("axis", axis_); }

 private:
  Value apply(Tracer& tracer, Value x) override {
    const int rank = x.shape().rank();
    const int axis = normalised_axis(static_cast<int>(axis_), rank, label());
    const Value mask = tracer.mask(x);
    if (mask && mask.shape() == x.shape()) {
      const Value kept = ops::cast(mask, DType::float32);
      const Value shift = ops::multiply_scalar(ops::add_scalar(kept, -1), -kMasked);
      return ops::multiply(ops::softmax(ops::add(x, shift), axis), kept);
    }
    if (axis == rank - 1) return apply_activation(tracer, "softmax", x);
    return ops::softmax(x, axis);
  }

  int64_t axis_;
};

class PReLUDefinition final : public UnaryLayer {
 public:
  explicit PReLUDefinition(const PReLUOptions& options) : options_(options) {}
  std::string_view class_name() const override { return "PReLU"; }
  bool passes_mask() const override { return true; }
  void settings(SettingVisitor& visitor) override {
    visit_initializer(visitor, "alpha_initializer", options_.alpha_initializer);
    visit_regularizer(visitor, "alpha_regularizer", options_.alpha_regularizer);
    visit_constraint(visitor, "alpha_constraint");
    visitor.visit("shared_axes", options_.shared_axes);
  }

 private:
  void build_for(const Shape& x) override {
    if (x.rank() < 2)
      throw ShapeError("{}: expected [rows, ..., features], got {}", label(), x.text());
    Shape alpha = x.part(1, x.rank());
    for (const int64_t axis : options_.shared_axes.value_or(std::vector<int64_t>())) {
      if (axis < 1 || axis >= x.rank()) {
        throw ShapeError("{}: shared_axes has {}, but {} has the axes 1 to {} behind its rows",
                         label(), axis, x.text(), x.rank() - 1);
      }
      alpha.set(static_cast<int>(axis) - 1, 1);
    }
    alpha_ = add_weight({.name = "alpha",
                         .type = {DType::float32, alpha},
                         .initializer = options_.alpha_initializer,
                         .regularizer = options_.alpha_regularizer});
  }

  Value apply(Tracer& tracer, Value x) override {
    const Value below = ops::multiply(tracer.value(alpha_), ops::relu(ops::negate(x)));
    return ops::subtract(ops::relu(x), below);
  }

  PReLUOptions options_;
  VariablePtr alpha_;
};

}  // namespace

Layer Activation(std::string_view activation, const LayerOptions& options) {
  return named_layer<ActivationDefinition>(options, activation);
}
Layer Identity(const LayerOptions& options) { return named_layer<IdentityDefinition>(options); }
Layer ReLU(const ReLUOptions& options) { return named_layer<ReLUDefinition>(options, options); }
Layer LeakyReLU(double negative_slope, const LayerOptions& options) {
  return named_layer<LeakyReLUDefinition>(options, negative_slope);
}
Layer ELU(double alpha, const LayerOptions& options) {
  return named_layer<ELUDefinition>(options, alpha);
}
Layer Softmax(int64_t axis, const LayerOptions& options) {
  return named_layer<SoftmaxDefinition>(options, axis);
}
Layer PReLU(const PReLUOptions& options) { return named_layer<PReLUDefinition>(options, options); }

}  // namespace snug

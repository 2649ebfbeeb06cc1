#include "snug/nn/dense.h"

#include "snug/base/error.h"
#include "snug/nn/activation.h"
#include "snug/nn/visit_settings.h"
#include "snug/ops/ops.h"

namespace snug {
namespace {

class DenseDefinition final : public UnaryLayer {
 public:
  DenseDefinition(int64_t units, const DenseOptions& options) : units_(units), options_(options) {
    check_activation(options_.activation);
  }

  std::string_view class_name() const override { return "Dense"; }
  bool passes_mask() const override { return true; }

  void settings(SettingVisitor& visitor) override {
    visitor.visit("units", units_);
    visitor.visit("activation", options_.activation);
    visitor.visit("use_bias", options_.use_bias);
    visit_initializer(visitor, "kernel_initializer", options_.kernel_initializer);
    visit_initializer(visitor, "bias_initializer", options_.bias_initializer);
    visit_regularizer(visitor, "kernel_regularizer", options_.kernel_regularizer);
    visit_regularizer(visitor, "bias_regularizer", options_.bias_regularizer);
    visit_regularizer(visitor, "activity_regularizer", options_.activity_regularizer);
    visit_constraint(visitor, "kernel_constraint");
    visit_constraint(visitor, "bias_constraint");
  }

 private:
  void build_for(const Shape& x) override {
    expect_positive("units", units_, "give the number of outputs, 1 or more");
    if (x.rank() < 2) {
      throw ShapeError(
          "{}: expected [rows, ..., features], got {}; put a Reshape layer with {{1}} before it "
          "for rows of one number",
          label(), x.text());
    }
    kernel_ = add_weight({.name = "kernel",
                          .type = {DType::float32, {x[-1], units_}},
                          .initializer = options_.kernel_initializer,
                          .regularizer = options_.kernel_regularizer});
    if (!options_.use_bias) return;
    bias_ = add_weight({.name = "bias",
                        .type = {DType::float32, {Extent(units_)}},
                        .initializer = options_.bias_initializer,
                        .regularizer = options_.bias_regularizer});
  }

  Value apply(Tracer& tracer, Value x) override {
    const int64_t features = kernel_->type().shape[0];
    if (x.shape().rank() < 2 || x.shape().extent(-1) != Extent(features)) {
      throw ShapeError(
          "{}: its kernel is for {} features in the last axis, got {}; put a Flatten layer before "
          "it, or use another Dense layer for this input",
          label(), features, x.shape().text());
    }
    const Value bias = bias_ ? tracer.value(bias_) : Value();
    const Value z = ops::matmul(x, tracer.value(kernel_), {.bias = bias});
    const Value y = apply_activation(tracer, options_.activation, z);
    if (options_.activity_regularizer)
      tracer.add_activity_loss(options_.activity_regularizer->penalty(y));
    return y;
  }

  int64_t units_;
  DenseOptions options_;
  VariablePtr kernel_, bias_;
};

}  // namespace

Layer Dense(int64_t units, const DenseOptions& options) {
  return named_layer<DenseDefinition>(options, units, options);
}

Layer Dense(int64_t units, const char* activation) {
  return Dense(units, DenseOptions{.activation = activation});
}

}  // namespace snug

// Layers that normalise each row by itself.

#include "snug/base/error.h"
#include "snug/nn/axes_last.h"
#include "snug/nn/normalization.h"
#include "snug/nn/visit_settings.h"
#include "snug/ops/ops.h"

namespace snug {
namespace {

// gamma and beta, as LayerNormalization and GroupNormalization have them.
template <typename Options>
class ScaledLayer : public UnaryLayer {
 public:
  explicit ScaledLayer(const Options& options) : options_(options) {}
  bool passes_mask() const final { return true; }

 protected:
  void visit_weights(SettingVisitor& visitor) {
    visit_initializer(visitor, "beta_initializer", options_.beta_initializer);
    visit_initializer(visitor, "gamma_initializer", options_.gamma_initializer);
    visit_regularizer(visitor, "beta_regularizer", options_.beta_regularizer);
    visit_regularizer(visitor, "gamma_regularizer", options_.gamma_regularizer);
    visit_constraint(visitor, "beta_constraint");
    visit_constraint(visitor, "gamma_constraint");
  }

  void add_weights(const Shape& shape) {
    shape_ = shape;
    const Type type{DType::float32, shape};
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
  }

  void expect_built(const Shape& shape, const Shape& x) const {
    if (shape == shape_) return;
    throw ShapeError("{}: its weights are {}, but {} has {} along these axes", label(),
                     shape_.text(), x.text(), shape.text());
  }

  Value gamma(Tracer& tracer) const { return gamma_ ? tracer.value(gamma_) : Value(); }
  Value beta(Tracer& tracer) const { return beta_ ? tracer.value(beta_) : Value(); }

  Options options_;

 private:
  Shape shape_;
  VariablePtr gamma_, beta_;
};

class LayerNormalizationDefinition final : public ScaledLayer<LayerNormalizationOptions> {
 public:
  using ScaledLayer::ScaledLayer;
  std::string_view class_name() const override { return "LayerNormalization"; }

  void settings(SettingVisitor& visitor) override {
    visitor.visit("axis", options_.axis);
    visitor.visit("epsilon", options_.epsilon);
    visitor.visit("center", options_.center);
    visitor.visit("scale", options_.scale);
    bool rms_scaling = false;
    visitor.visit("rms_scaling", rms_scaling);
    if (rms_scaling) throw Error("{}: rms_scaling is not supported; use RMSNormalization", label());
    visit_weights(visitor);
  }

 private:
  void build_for(const Shape& x) override {
    add_weights(AxesLast(options_.axis, x, label()).shape());
  }

  Value apply(Tracer& tracer, Value x) override {
    const AxesLast axes(options_.axis, x.shape(), label());
    expect_built(axes.shape(), x.shape());
    return axes.back(
        ops::layer_norm(axes.to_end(x), {.epsilon = static_cast<float>(options_.epsilon),
                                         .axes = static_cast<int>(axes.axes().size()),
                                         .gamma = gamma(tracer),
                                         .beta = beta(tracer)}));
  }
};

class GroupNormalizationDefinition final : public ScaledLayer<GroupNormalizationOptions> {
 public:
  GroupNormalizationDefinition(int64_t groups, const GroupNormalizationOptions& options)
      : ScaledLayer(options), groups_(groups) {}
  std::string_view class_name() const override { return "GroupNormalization"; }

  void settings(SettingVisitor& visitor) override {
    visitor.visit("groups", groups_);
    visitor.visit("axis", options_.axis);
    visitor.visit("epsilon", options_.epsilon);
    visitor.visit("center", options_.center);
    visitor.visit("scale", options_.scale);
    visit_weights(visitor);
  }

 private:
  void build_for(const Shape& x) override {
    const Shape channels = AxesLast({options_.axis}, x, label()).shape();
    if (groups_ != -1 && (groups_ < 1 || channels[0] % groups_ != 0)) {
      throw ShapeError("{}: {} groups do not divide the {} channels of {}; give a divisor, or -1",
                       label(), groups_, channels[0], x.text());
    }
    add_weights(channels);
  }

  Value apply(Tracer& tracer, Value x) override {
    const AxesLast axes({options_.axis}, x.shape(), label());
    expect_built(axes.shape(), x.shape());
    return axes.back(
        ops::group_norm(axes.to_end(x), {.groups = groups_ == -1 ? axes.shape()[0] : groups_,
                                         .epsilon = static_cast<float>(options_.epsilon),
                                         .gamma = gamma(tracer),
                                         .beta = beta(tracer)}));
  }

  int64_t groups_;
};

class RMSNormalizationDefinition final : public UnaryLayer {
 public:
  explicit RMSNormalizationDefinition(const RMSNormalizationOptions& options)
      : axis_(options.axis), epsilon_(options.epsilon) {}
  std::string_view class_name() const override { return "RMSNormalization"; }
  void settings(SettingVisitor& visitor) override {
    visitor.visit("axis", axis_);
    visitor.visit("epsilon", epsilon_);
  }

 private:
  void build_for(const Shape& x) override {
    scale_ = add_weight({.name = "scale",
                         .type = {DType::float32, AxesLast(axis_, x, label()).shape()},
                         .initializer = ones()});
  }

  // Several axes count as one.
  Value apply(Tracer& tracer, Value x) override {
    const AxesLast axes(axis_, x.shape(), label());
    const Shape& wanted = scale_->type().shape;
    if (axes.shape() != wanted) {
      throw ShapeError("{}: its scale is {}, but {} has {} along these axes", label(),
                       wanted.text(), x.shape().text(), axes.shape().text());
    }
    const Value last = axes.to_end(x);
    Shape joined = last.shape().part(0, last.shape().rank() - wanted.rank());
    joined.push_back(wanted.size());
    const Value scale = ops::reshape(tracer.value(scale_), {Extent(wanted.size())});
    const Value y = ops::rms_norm(ops::reshape(last, joined), scale, static_cast<float>(epsilon_));
    return axes.back(ops::reshape(y, last.shape()));
  }

  std::vector<int64_t> axis_;
  double epsilon_;
  VariablePtr scale_;
};

class UnitNormalizationDefinition final : public UnaryLayer {
 public:
  explicit UnitNormalizationDefinition(int64_t axis) : axis_(axis) {}
  std::string_view class_name() const override { return "UnitNormalization"; }
  bool passes_mask() const override { return true; }
  void settings(SettingVisitor& visitor) override { visitor.visit("axis", axis_); }

 private:
  Value apply(Tracer&, Value x) override {
    return unit_norm(x, AxesLast({axis_}, x.shape(), label()).axes()[0]);
  }

  int64_t axis_;
};

}  // namespace

Layer LayerNormalization(const LayerNormalizationOptions& options) {
  return named_layer<LayerNormalizationDefinition>(options, options);
}
Layer GroupNormalization(int64_t groups, const GroupNormalizationOptions& options) {
  return named_layer<GroupNormalizationDefinition>(options, groups, options);
}
Layer RMSNormalization(const RMSNormalizationOptions& options) {
  return named_layer<RMSNormalizationDefinition>(options, options);
}
Layer UnitNormalization(int64_t axis, const LayerOptions& options) {
  return named_layer<UnitNormalizationDefinition>(options, axis);
}

}  // namespace snug

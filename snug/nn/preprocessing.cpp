#include "snug/nn/preprocessing.h"

#include <algorithm>

#include "snug/base/error.h"
#include "snug/nn/channel_statistics.h"
#include "snug/nn/visit_settings.h"
#include "snug/ops/ops.h"

namespace snug {
namespace {

class RescalingDefinition final : public UnaryLayer {
 public:
  RescalingDefinition(double scale, double offset) : scale_(scale), offset_(offset) {}
  std::string_view class_name() const override { return "Rescaling"; }
  bool passes_mask() const override { return true; }
  void settings(SettingVisitor& visitor) override {
    visitor.visit("scale", scale_);
    visitor.visit("offset", offset_);
  }

 private:
  Value apply(Tracer&, Value x) override {
    const Value scaled = ops::multiply_scalar(x, static_cast<float>(scale_));
    return offset_ == 0 ? scaled : ops::add_scalar(scaled, static_cast<float>(offset_));
  }

  double scale_, offset_;
};

class NormalizationDefinition final : public UnaryLayer {
 public:
  explicit NormalizationDefinition(const NormalizationOptions& options) : options_(options) {
    check();
  }
  std::string_view class_name() const override { return "Normalization"; }
  bool passes_mask() const override { return true; }

  void settings(SettingVisitor& visitor) override {
    visitor.visit("axis", options_.axis);
    visitor.visit("invert", options_.invert);
    visitor.visit("mean", options_.mean);
    visitor.visit("variance", options_.variance);
    check();
  }

  void adapt(std::span<const float> rows, const Shape& row, bool further) {
    if (options_.mean)
      throw Error("{}: adapt: mean and variance were given, so there is nothing to adapt", label());
    if (!further) start_adapting(row);
    const int64_t elements = statistics_.row_elements();
    if (elements == 0) throw Error("{}: adapt_further: call adapt first", label());
    if (rows.empty() || static_cast<int64_t>(rows.size()) % elements != 0) {
      throw ShapeError("{}: adapt: {} numbers are not one or more rows of {}", label(), rows.size(),
                       row_.text());
    }
    statistics_.add(rows);
    const std::span<float> mean = mean_->tensor().as<float>();
    const std::span<float> variance = variance_->tensor().as<float>();
    for (size_t i = 0; i < mean.size(); ++i) {
      mean[i] = static_cast<float>(statistics_.mean(static_cast<int64_t>(i)));
      variance[i] = static_cast<float>(statistics_.variance(static_cast<int64_t>(i)));
    }
  }

 private:
  void check() const {
    if (options_.mean.has_value() != options_.variance.has_value())
      throw Error("{}: mean and variance must be given both or not at all", label());
    if (options_.mean && options_.mean->size() != options_.variance->size()) {
      throw Error("{}: {} means but {} variances were given", label(), options_.mean->size(),
                  options_.variance->size());
    }
  }

  std::vector<int> kept_axes(const Shape& x) const {
    std::vector<int> kept;
    for (const int64_t axis : options_.axis)
      kept.push_back(normalised_axis(static_cast<int>(axis), x.rank(), label()));
    std::ranges::sort(kept);
    if (!kept.empty() && kept[0] == 0) {
      throw ShapeError("{}: axis 0 of {} counts the rows; choose another, or none for one mean",
                       label(), x.text());
    }
    return kept;
  }

  // Of the weights, and as they stand in the input's last axes.
  Shape weight_shape(const Shape& x) const {
    Shape shape;
    for (const int axis : kept_axes(x)) shape.push_back(x.extent(axis));
    return shape;
  }
  Shape broadcast_shape(const Shape& x) const {
    const std::vector<int> kept = kept_axes(x);
    Shape shape;
    for (int axis = kept.empty() ? x.rank() : kept[0]; axis < x.rank(); ++axis)
      shape.push_back(std::ranges::count(kept, axis) ? x.extent(axis) : Extent(1));
    return shape;
  }

  void build_for(const Shape& x) override {
    const Type type{DType::float32, weight_shape(x)};
    if (options_.mean) {
      mean_ = fixed("mean", type, *options_.mean);
      variance_ = fixed("variance", type, *options_.variance);
      return;
    }
    mean_ = add_weight({.name = "mean", .type = type, .initializer = zeros(), .trainable = false});
    variance_ =
        add_weight({.name = "variance", .type = type, .initializer = ones(), .trainable = false});
    add_weight({.name = "count", .type = {DType::int32, Shape{}}, .trainable = false});
  }

  // Numbers that were given are no weights, but the step reads them as it reads weights.
  VariablePtr fixed(std::string_view name, const Type& type, const std::vector<double>& given) {
    if (given.size() != 1 && static_cast<int64_t>(given.size()) != type.shape.size()) {
      throw ShapeError("{}: {} has {} numbers; the axes to normalise hold {}", label(), name,
                       given.size(), type.shape.size());
    }
    auto variable = std::make_shared<Variable>(
        VariableSpec{.name = std::string(name), .type = type, .trainable = false});
    allocate({variable}, /*seed=*/0);
    const std::span<float> values = variable->tensor().as<float>();
    for (size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>(given[given.size() == 1 ? 0 : i]);
    return variable;
  }

  void start_adapting(const Shape& row) {
    Shape x{kRows};
    for (const Extent extent : row.extents()) x.push_back(extent);
    ensure_built({{DType::float32, x}});
    if (weight_shape(x) != mean_->type().shape) {
      throw ShapeError("{}: adapt: rows of {} do not fit a mean of {}", label(), row.text(),
                       mean_->type().shape.text());
    }
    allocate(own_variables(), /*seed=*/0);
    row_ = row;
    statistics_ = ChannelStatistics(channels_of(x), mean_->type().shape.size());
  }

  // Of each element of a row: the place of its mean.
  std::vector<int32_t> channels_of(const Shape& x) const {
    const std::vector<int> kept = kept_axes(x);
    std::vector<int32_t> channels(static_cast<size_t>(x.size_per_row()));
    for (size_t i = 0; i < channels.size(); ++i) {
      int64_t rest = static_cast<int64_t>(i), scale = 1;
      for (int axis = x.rank() - 1; axis > 0; --axis) {
        if (std::ranges::count(kept, axis)) {
          channels[i] += static_cast<int32_t>(rest % x[axis] * scale);
          scale *= x[axis];
        }
        rest /= x[axis];
      }
    }
    return channels;
  }

  Value apply(Tracer& tracer, Value x) override {
    if (weight_shape(x.shape()) != mean_->type().shape) {
      throw ShapeError("{}: its mean is {}, which does not fit {}", label(),
                       mean_->type().shape.text(), x.shape().text());
    }
    const Shape shape = broadcast_shape(x.shape());
    const Value mean = ops::reshape(tracer.value(mean_), shape);
    const Value deviation = ops::maximum(ops::sqrt(ops::reshape(tracer.value(variance_), shape)),
                                         ops::constant(tracer.graph(), Shape{}, 1e-7f));
    if (options_.invert) return ops::add(ops::multiply(x, deviation), mean);
    return ops::divide(ops::subtract(x, mean), deviation);
  }

  NormalizationOptions options_;
  VariablePtr mean_, variance_;
  Shape row_;
  ChannelStatistics statistics_;
};

NormalizationDefinition& definition_of(const Layer& layer) {
  return static_cast<NormalizationDefinition&>(*layer.definition());
}

}  // namespace

Layer Rescaling(double scale, const RescalingOptions& options) {
  return named_layer<RescalingDefinition>(options, scale, options.offset);
}

Normalization::Normalization(const NormalizationOptions& options)
    : Layer(named_layer<NormalizationDefinition>(options, options)) {}

void Normalization::adapt(std::span<const float> rows, const Shape& row) const {
  definition_of(*this).adapt(rows, row, /*further=*/false);
}

void Normalization::adapt_further(std::span<const float> rows) const {
  definition_of(*this).adapt(rows, {}, /*further=*/true);
}

}  // namespace snug

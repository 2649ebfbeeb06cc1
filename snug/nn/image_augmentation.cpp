// RandomFlip, RandomRotation, RandomZoom, RandomTranslation, RandomContrast, RandomBrightness.

#include <algorithm>
#include <array>

#include "snug/base/error.h"
#include "snug/nn/image_preprocessing.h"
#include "snug/nn/image_window.h"
#include "snug/nn/random_stream.h"
#include "snug/nn/visit_settings.h"
#include "snug/ops/image_ops.h"

namespace snug {
namespace {

using Kind = ops::RandomWarpOptions::Kind;

// Nothing at inference; in training it draws.
class RandomLayer : public UnaryLayer {
 public:
  explicit RandomLayer(std::optional<int64_t> seed) : seed_(seed) {}

 protected:
  void build_for(const Shape& x) override { expect_rank(x, 4, kImageAxes, kImageAdvice); }
  Value apply(Tracer& tracer, Value x) final {
    return tracer.training() ? changed(x, random_stream(tracer, seed_)) : x;
  }
  virtual Value changed(Value x, uint64_t stream) = 0;

  // {from, to}, sorted; one number stands for minus it and it, the lower held to `least`.
  void spread(std::vector<double>& factor, std::string_view name, double least = -1e30) const {
    if (factor.size() == 1) {
      const double both = std::abs(factor[0]);
      factor = {std::max(-both, least), both};
    }
    if (factor.size() != 2)
      throw Error("{}: {} needs one number or two, got {}", label(), name, factor.size());
    std::ranges::sort(factor);
  }
  void expect_within(const std::vector<double>& factor, std::string_view name, double low,
                     double high) const {
    if (factor[0] >= low && factor[1] <= high) return;
    throw Error("{}: {} is {} to {}; it must be within {} to {}", label(), name, factor[0],
                factor[1], low, high);
  }

  std::optional<int64_t> seed_;
};

std::array<float, 2> floats(const std::vector<double>& range) {
  return {static_cast<float>(range[0]), static_cast<float>(range[1])};
}

class RandomFlipDefinition final : public RandomLayer {
 public:
  RandomFlipDefinition(std::string mode, const RandomLayerOptions& options)
      : RandomLayer(options.seed), mode_(std::move(mode)) {
    check();
  }
  std::string_view class_name() const override { return "RandomFlip"; }
  void settings(SettingVisitor& visitor) override {
    visitor.visit("mode", mode_);
    visitor.visit("seed", seed_);
    visit_data_format(visitor);
    check();
  }

 private:
  void check() const {
    if (mode_ == "horizontal" || mode_ == "vertical" || mode_ == "horizontal_and_vertical") return;
    throw Error(
        "{}: mode is \"{}\"; give \"horizontal\", \"vertical\" or \"horizontal_and_vertical\"",
        label(), mode_);
  }
  Value changed(Value x, uint64_t stream) override {
    return ops::random_warp(x, {.kind = Kind::flip,
                                .horizontal = mode_ != "vertical",
                                .vertical = mode_ != "horizontal",
                                .stream = stream});
  }

  std::string mode_;
};

// The settings that rotation, zoom and translation share.
class RandomWarpLayer : public RandomLayer {
 public:
  explicit RandomWarpLayer(const RandomWarpLayerOptions& options)
      : RandomLayer(options.seed), options_(options) {}

 protected:
  void visit_warp(SettingVisitor& visitor) {
    visitor.visit("fill_mode", options_.fill_mode);
    visitor.visit("interpolation", options_.interpolation);
    visitor.visit("seed", seed_);
    visitor.visit("fill_value", options_.fill_value);
    visit_data_format(visitor);
  }
  void build_for(const Shape& x) override {
    RandomLayer::build_for(x);
    fill();
    if (options_.interpolation == "bilinear" || options_.interpolation == "nearest") return;
    throw Error("{}: interpolation is \"{}\"; give \"bilinear\" or \"nearest\"", label(),
                options_.interpolation);
  }
  ops::RandomWarpOptions warp(Kind kind, uint64_t stream) const {
    return {.kind = kind,
            .fill = fill(),
            .fill_value = static_cast<float>(options_.fill_value),
            .bilinear = options_.interpolation == "bilinear",
            .stream = stream};
  }

 private:
  kernels::WarpFill fill() const {
    constexpr std::string_view kModes[] = {"reflect", "wrap", "constant", "nearest"};
    for (size_t i = 0; i < std::size(kModes); ++i) {
      if (options_.fill_mode == kModes[i]) return static_cast<kernels::WarpFill>(i);
    }
    throw Error("{}: fill_mode is \"{}\"; give one of {}", label(), options_.fill_mode,
                fmt::join(kModes, ", "));
  }

  RandomWarpLayerOptions options_;
};

class RandomRotationDefinition final : public RandomWarpLayer {
 public:
  RandomRotationDefinition(const FactorRange& factor, const RandomWarpLayerOptions& options)
      : RandomWarpLayer(options), factor_(factor.values()) {
    check();
  }
  std::string_view class_name() const override { return "RandomRotation"; }
  void settings(SettingVisitor& visitor) override {
    visitor.visit("factor", factor_);
    visit_warp(visitor);
    check();
  }

 private:
  void check() {
    spread(factor_, "factor");
    expect_within(factor_, "factor", -1, 1);
  }
  Value changed(Value x, uint64_t stream) override {
    ops::RandomWarpOptions options = warp(Kind::rotation, stream);
    options.height = floats(factor_);
    return ops::random_warp(x, options);
  }

  std::vector<double> factor_;
};

class RandomZoomDefinition final : public RandomWarpLayer {
 public:
  RandomZoomDefinition(const FactorRange& height, const std::optional<FactorRange>& width,
                       const RandomWarpLayerOptions& options)
      : RandomWarpLayer(options), height_(height.values()) {
    if (width) width_ = width->values();
    check();
  }
  std::string_view class_name() const override { return "RandomZoom"; }
  void settings(SettingVisitor& visitor) override {
    visitor.visit("height_factor", height_);
    visitor.visit("width_factor", width_);
    visit_warp(visitor);
    check();
  }

 private:
  void check() {
    spread(height_, "height_factor");
    expect_within(height_, "height_factor", -1, 1);
    if (!width_) return;
    spread(*width_, "width_factor");
    expect_within(*width_, "width_factor", -1, 1);
  }
  Value changed(Value x, uint64_t stream) override {
    ops::RandomWarpOptions options = warp(Kind::zoom, stream);
    options.height = floats(height_);
    options.one_factor = !width_;
    if (width_) options.width = floats(*width_);
    return ops::random_warp(x, options);
  }

  std::vector<double> height_;
  std::optional<std::vector<double>> width_;
};

class RandomTranslationDefinition final : public RandomWarpLayer {
 public:
  RandomTranslationDefinition(const FactorRange& height, const FactorRange& width,
                              const RandomWarpLayerOptions& options)
      : RandomWarpLayer(options), height_(height.values()), width_(width.values()) {
    check();
  }
  std::string_view class_name() const override { return "RandomTranslation"; }
  void settings(SettingVisitor& visitor) override {
    visitor.visit("height_factor", height_);
    visitor.visit("width_factor", width_);
    visit_warp(visitor);
    check();
  }

 private:
  void check() {
    spread(height_, "height_factor");
    expect_within(height_, "height_factor", -1, 1);
    spread(width_, "width_factor");
    expect_within(width_, "width_factor", -1, 1);
  }
  Value changed(Value x, uint64_t stream) override {
    ops::RandomWarpOptions options = warp(Kind::translation, stream);
    options.height = floats(height_);
    options.width = floats(width_);
    return ops::random_warp(x, options);
  }

  std::vector<double> height_, width_;
};

// One draw for each image, [rows, 1, 1, 1].
Value draw_for_images(Value x, const std::array<float, 2>& range, uint64_t stream) {
  const Value pixel = ops::slice(x, {.begin = {0, 0, 0, 0}, .size = {-1, 1, 1, 1}});
  return ops::random_uniform_like(pixel, range[0], range[1], stream);
}

// Contrast, or brightness.
template <bool kContrast>
class RandomColour final : public RandomLayer {
 public:
  RandomColour(const FactorRange& factor, const RandomColourOptions& options)
      : RandomLayer(options.seed),
        factor_(factor.values()),
        value_range_(options.value_range.begin(), options.value_range.end()) {
    check();
  }
  std::string_view class_name() const override {
    return kContrast ? "RandomContrast" : "RandomBrightness";
  }
  void settings(SettingVisitor& visitor) override {
    visitor.visit("factor", factor_);
    visitor.visit("value_range", value_range_);
    visitor.visit("seed", seed_);
    visit_data_format(visitor);
    check();
  }

 private:
  void check() {
    spread(factor_, "factor", kContrast ? 0 : -1);
    expect_within(factor_, "factor", kContrast ? 0 : -1, 1);
    if (value_range_.size() != 2)
      throw Error("{}: value_range needs two numbers, got {}", label(), value_range_.size());
    std::ranges::sort(value_range_);
  }
  Value changed(Value x, uint64_t stream) override {
    const std::array<float, 2> range = floats(value_range_), factor = floats(factor_);
    if constexpr (kContrast) {
      const Value mean = ops::mean(x, {.axes = {1, 2}, .keepdims = true});
      const Value draw = draw_for_images(x, {1 - factor[0], 1 + factor[1]}, stream);
      const Value spread_out = ops::multiply(ops::subtract(x, mean), draw);
      return ops::clip(ops::add(spread_out, mean), range[0], range[1]);
    } else {
      const Value draw = draw_for_images(x, factor, stream);
      const Value light = ops::multiply_scalar(draw, range[1] - range[0]);
      return ops::clip(ops::add(x, light), range[0], range[1]);
    }
  }

  std::vector<double> factor_, value_range_;
};

}  // namespace

Layer RandomFlip(const std::string& mode, const RandomLayerOptions& options) {
  return named_layer<RandomFlipDefinition>(options, mode, options);
}
Layer RandomRotation(FactorRange factor, const RandomWarpLayerOptions& options) {
  return named_layer<RandomRotationDefinition>(options, factor, options);
}
Layer RandomZoom(FactorRange height_factor, std::optional<FactorRange> width_factor,
                 const RandomWarpLayerOptions& options) {
  return named_layer<RandomZoomDefinition>(options, height_factor, width_factor, options);
}
Layer RandomTranslation(FactorRange height_factor, FactorRange width_factor,
                        const RandomWarpLayerOptions& options) {
  return named_layer<RandomTranslationDefinition>(options, height_factor, width_factor, options);
}
Layer RandomContrast(FactorRange factor, const RandomColourOptions& options) {
  return named_layer<RandomColour<true>>(options, factor, options);
}
Layer RandomBrightness(FactorRange factor, const RandomColourOptions& options) {
  return named_layer<RandomColour<false>>(options, factor, options);
}

}  // namespace snug

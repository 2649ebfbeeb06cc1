#include "snug/nn/dropout.h"

#include "snug/base/error.h"
#include "snug/nn/image_window.h"
#include "snug/nn/random_stream.h"
#include "snug/nn/visit_settings.h"

namespace snug {
namespace {

// `axes`: 0 for Dropout, 1 or 2 for SpatialDropout.
class DropoutDefinition final : public UnaryLayer {
 public:
  DropoutDefinition(int axes, double rate, const DropoutOptions& options)
      : axes_(axes), rate_(rate), options_(options) {
    check_rate();
  }

  std::string_view class_name() const override {
    return axes_ == 0 ? "Dropout" : axes_ == 1 ? "SpatialDropout1D" : "SpatialDropout2D";
  }
  bool passes_mask() const override { return true; }

  void settings(SettingVisitor& visitor) override {
    visitor.visit("rate", rate_);
    visitor.visit("seed", options_.seed);
    if (axes_ == 0) visitor.visit("noise_shape", options_.noise_shape);
    if (axes_ == 2) visit_data_format(visitor);
    check_rate();
  }

 private:
  void check_rate() const {
    if (rate_ >= 0 && rate_ <= 1) return;
    throw Error("{}: the rate is {}; it must be the share that is dropped, from 0 to 1", label(),
                rate_);
  }

  Value apply(Tracer& tracer, Value x) override {
    const std::optional<Shape> noise = noise_shape(x.shape());
    if (!tracer.training() || rate_ == 0) return x;
    return ops::dropout(x, {.rate = static_cast<float>(rate_),
                            .stream = random_stream(tracer, options_.seed),
                            .noise_shape = noise});
  }

  std::optional<Shape> noise_shape(const Shape& x) const {
    if (axes_ == 1) {
      expect_rank(x, 3, kStepAxes, kStepAdvice);
      return Shape{x.extent(0), 1, x.extent(2)};
    }
    if (axes_ == 2) {
      expect_rank(x, 4, kImageAxes, kImageAdvice);
      return Shape{x.extent(0), 1, 1, x.extent(3)};
    }
    if (!options_.noise_shape) return std::nullopt;
    const std::vector<int64_t>& given = *options_.noise_shape;
    bool fits = static_cast<int>(given.size()) == x.rank();
    Shape noise;
    for (int axis = 0; fits && axis < x.rank(); ++axis) {
      fits = given[axis] == -1 || given[axis] == 1 || x.extent(axis) == Extent(given[axis]);
      noise.push_back(given[axis] == -1 ? x.extent(axis) : Extent(given[axis]));
    }
    if (fits) return noise;
    throw ShapeError(
        "{}: noise_shape {{{}}} for {}; give each axis 1 (one draw for all) or -1 (a draw for "
        "each), the rows first",
        label(), fmt::join(given, ", "), x.text());
  }

  int axes_;
  double rate_;
  DropoutOptions options_;
};

class GaussianNoiseDefinition final : public UnaryLayer {
 public:
  GaussianNoiseDefinition(double stddev, const NoiseOptions& options)
      : stddev_(stddev), seed_(options.seed) {
    check();
  }
  std::string_view class_name() const override { return "GaussianNoise"; }
  bool passes_mask() const override { return true; }
  void settings(SettingVisitor& visitor) override {
    visitor.visit("stddev", stddev_);
    visitor.visit("seed", seed_);
    check();
  }

 private:
  void check() const {
    if (stddev_ >= 0) return;
    throw Error("{}: stddev is {}; it must be 0 or more", label(), stddev_);
  }
  Value apply(Tracer& tracer, Value x) override {
    if (!tracer.training() || stddev_ == 0) return x;
    const auto deviation = static_cast<float>(stddev_);
    return ops::add(x, ops::random_normal_like(x, 0, deviation, random_stream(tracer, seed_)));
  }

  double stddev_;
  std::optional<int64_t> seed_;
};

Layer spatial_dropout(int axes, double rate, const NoiseOptions& options) {
  return named_layer<DropoutDefinition>(options, axes, rate, DropoutOptions{.seed = options.seed});
}

}  // namespace

Layer Dropout(double rate, const DropoutOptions& options) {
  return named_layer<DropoutDefinition>(options, 0, rate, options);
}
Layer SpatialDropout1D(double rate, const NoiseOptions& options) {
  return spatial_dropout(1, rate, options);
}
Layer SpatialDropout2D(double rate, const NoiseOptions& options) {
  return spatial_dropout(2, rate, options);
}
Layer GaussianNoise(double stddev, const NoiseOptions& options) {
  return named_layer<GaussianNoiseDefinition>(options, stddev, options);
}

}  // namespace snug

#include "snug/nn/pooling.h"

#include "snug/nn/image_window.h"
#include "snug/nn/visit_settings.h"

namespace snug {
namespace {

enum class Pool { max, average };

template <typename Size>
class Pooling final : public UnaryLayer {
 public:
  Pooling(Pool pool, Size size, const PoolingOptions<Size>& options)
      : pool_(pool), size_(size), options_(options) {}

  std::string_view class_name() const override {
    if (pool_ == Pool::max) return kSteps ? "MaxPooling1D" : "MaxPooling2D";
    return kSteps ? "AveragePooling1D" : "AveragePooling2D";
  }

  // The strides come after the size that they are equal to unless they are given.
  void settings(SettingVisitor& visitor) override {
    visit_size(visitor, "pool_size", size_);
    visitor.visit("padding", options_.padding);
    const Size given = options_.strides.value_or(size_);
    Size strides = given;
    visit_size(visitor, "strides", strides);
    if (!(strides == given)) options_.strides = strides;
    visit_data_format(visitor);
  }

 private:
  static constexpr bool kSteps = std::is_same_v<Size, int64_t>;

  ImageWindow window() const {
    return {.size = as_image(size_),
            .strides = as_image(options_.strides.value_or(size_)),
            .dilation = 1,
            .padding = options_.padding};
  }

  void build_for(const Shape&) override { check_window(window(), label()); }

  Value apply(Tracer& tracer, Value x) override {
    if (kSteps)
      expect_rank(x.shape(), 3, kStepAxes, kStepAdvice);
    else
      expect_rank(x.shape(), 4, kImageAxes, kImageAdvice);
    const Value image = kSteps ? steps_to_image(x) : x;
    const ops::Pool2DOptions options{.size = pair_of(window().size),
                                     .strides = pair_of(window().strides),
                                     .padding = padding_of(window(), image.shape()),
                                     .alone = tracer.alone()};
    const Value y =
        pool_ == Pool::max ? ops::max_pool2d(image, options) : ops::average_pool2d(image, options);
    return kSteps ? image_to_steps(y) : y;
  }

  Pool pool_;
  Size size_;
  PoolingOptions<Size> options_;
};

class GlobalPooling final : public UnaryLayer {
 public:
  GlobalPooling(Pool pool, int axes, const GlobalPoolingOptions& options)
      : pool_(pool), axes_(axes), keepdims_(options.keepdims) {}

  std::string_view class_name() const override {
    if (pool_ == Pool::max) return axes_ == 1 ? "GlobalMaxPooling1D" : "GlobalMaxPooling2D";
    return axes_ == 1 ? "GlobalAveragePooling1D" : "GlobalAveragePooling2D";
  }

  void settings(SettingVisitor& visitor) override {
    visit_data_format(visitor);
    visitor.visit("keepdims", keepdims_);
  }

 private:
  Value apply(Tracer& tracer, Value x) override {
    if (axes_ == 1)
      expect_rank(x.shape(), 3, kStepAxes, kStepAdvice);
    else
      expect_rank(x.shape(), 4, kImageAxes, kImageAdvice);
    const std::vector<int> axes = axes_ == 1 ? std::vector{1} : std::vector{1, 2};
    const ops::ReduceOptions options{.axes = axes, .keepdims = keepdims_};
    if (pool_ == Pool::max) return ops::max(x, options);
    const Value mask = axes_ == 1 ? tracer.mask(x) : Value();
    return mask ? masked_mean(x, mask, options) : ops::mean(x, options);
  }

  // Over the steps that are real.
  static Value masked_mean(Value x, Value mask, const ops::ReduceOptions& options) {
    const Shape& shape = mask.shape();
    const Value kept =
        ops::reshape(ops::cast(mask, DType::float32), {shape.extent(0), shape.extent(1), 1});
    return ops::divide(ops::sum(ops::multiply(x, kept), options), ops::sum(kept, options));
  }

  Pool pool_;
  int axes_;
  bool keepdims_;
};

}  // namespace

Layer MaxPooling1D(int64_t pool_size, const Pooling1DOptions& options) {
  return named_layer<Pooling<int64_t>>(options, Pool::max, pool_size, options);
}
Layer MaxPooling2D(Size2D pool_size, const Pooling2DOptions& options) {
  return named_layer<Pooling<Size2D>>(options, Pool::max, pool_size, options);
}
Layer AveragePooling1D(int64_t pool_size, const Pooling1DOptions& options) {
  return named_layer<Pooling<int64_t>>(options, Pool::average, pool_size, options);
}
Layer AveragePooling2D(Size2D pool_size, const Pooling2DOptions& options) {
  return named_layer<Pooling<Size2D>>(options, Pool::average, pool_size, options);
}
Layer GlobalMaxPooling1D(const GlobalPoolingOptions& options) {
  return named_layer<GlobalPooling>(options, Pool::max, 1, options);
}
Layer GlobalMaxPooling2D(const GlobalPoolingOptions& options) {
  return named_layer<GlobalPooling>(options, Pool::max, 2, options);
}
Layer GlobalAveragePooling1D(const GlobalPoolingOptions& options) {
  return named_layer<GlobalPooling>(options, Pool::average, 1, options);
}
Layer GlobalAveragePooling2D(const GlobalPoolingOptions& options) {
  return named_layer<GlobalPooling>(options, Pool::average, 2, options);
}

}  // namespace snug

#include "snug/nn/shape_layers.h"

#include <algorithm>

#include "snug/base/error.h"
#include "snug/nn/visit_settings.h"
#include "snug/ops/reshape.h"

namespace snug {
namespace {

std::string text_of(const std::vector<int64_t>& list) {
  return fmt::format("{{{}}}", fmt::join(list, ", "));
}

Value reshaped(const Tracer& tracer, Value x, const Shape& shape) {
  return tracer.alone() ? ops::reshape_alone(x, shape) : ops::reshape(x, shape);
}

class FlattenDefinition final : public UnaryLayer {
 public:
  std::string_view class_name() const override { return "Flatten"; }
  void settings(SettingVisitor& visitor) override { visit_data_format(visitor); }

 private:
  bool keeps_dtype() const override { return true; }
  Value apply(Tracer& tracer, Value x) override {
    if (x.shape().rank() < 1)
      throw ShapeError("{}: expected [rows, ...], got a single number", label());
    return reshaped(tracer, x, {x.shape().extent(0), x.shape().part(1, x.shape().rank()).size()});
  }
};

class ReshapeDefinition final : public UnaryLayer {
 public:
  explicit ReshapeDefinition(const std::vector<int64_t>& target_shape) : target_(target_shape) {}
  std::string_view class_name() const override { return "Reshape"; }
  void settings(SettingVisitor& visitor) override { visitor.visit("target_shape", target_); }

 private:
  bool keeps_dtype() const override { return true; }

  void build_for(const Shape&) override {
    if (std::ranges::count(target_, -1) > 1 ||
        std::ranges::any_of(target_, [](int64_t extent) { return extent < -1 || extent == 0; })) {
      throw Error("{}: target_shape is {}; one extent may be -1, the others must be 1 or more",
                  label(), text_of(target_));
    }
  }

  Value apply(Tracer& tracer, Value x) override {
    const Shape& from = x.shape();
    const int64_t elements = from.part(std::min(1, from.rank()), from.rank()).size();
    int64_t given = 1;
    for (const int64_t extent : target_) given *= extent == -1 ? 1 : extent;
    const bool open = std::ranges::count(target_, -1) > 0;
    if (from.rank() < 1 || (open ? elements % given != 0 : elements != given)) {
      throw ShapeError("{}: {} has {} elements a row, which do not fit target_shape {} ({}{})",
                       label(), from.text(), elements, text_of(target_),
                       open ? "a multiple of " : "", given);
    }
    Shape to{from.extent(0)};
    for (const int64_t extent : target_) to.push_back(extent == -1 ? elements / given : extent);
    return reshaped(tracer, x, to);
  }

  std::vector<int64_t> target_;
};

class PermuteDefinition final : public UnaryLayer {
 public:
  explicit PermuteDefinition(const std::vector<int64_t>& dims) : dims_(dims) {}
  std::string_view class_name() const override { return "Permute"; }
  void settings(SettingVisitor& visitor) override { visitor.visit("dims", dims_); }

 private:
  bool keeps_dtype() const override { return true; }

  Value apply(Tracer&, Value x) override {
    std::vector<int64_t> sorted = dims_;
    std::ranges::sort(sorted);
    bool fits = static_cast<int>(dims_.size()) + 1 == x.shape().rank();
    for (size_t i = 0; i < sorted.size(); ++i) fits &= sorted[i] == static_cast<int64_t>(i) + 1;
    if (!fits) {
      throw ShapeError(
          "{}: dims {} for {}; list each axis behind the rows once, counted from 1 (1 to {})",
          label(), text_of(dims_), x.shape().text(), x.shape().rank() - 1);
    }
    std::vector<int> axes = {0};
    for (const int64_t dim : dims_) axes.push_back(static_cast<int>(dim));
    return ops::transpose(x, axes);
  }

  std::vector<int64_t> dims_;
};

class RepeatVectorDefinition final : public UnaryLayer {
 public:
  explicit RepeatVectorDefinition(int64_t n) : n_(n) {}
  std::string_view class_name() const override { return "RepeatVector"; }
  void settings(SettingVisitor& visitor) override { visitor.visit("n", n_); }

 private:
  void build_for(const Shape&) override {
    expect_positive("n", n_, "give how often each row is repeated, 1 or more");
  }
  Value apply(Tracer&, Value x) override {
    expect_rank(x.shape(), 2, "[rows, features]", "put a Flatten layer before it");
    const Extent rows = x.shape().extent(0), features = x.shape().extent(1);
    return ops::broadcast_to(ops::reshape(x, {rows, 1, features}), {rows, n_, features});
  }

  int64_t n_;
};

}  // namespace

Layer Flatten(const LayerOptions& options) { return named_layer<FlattenDefinition>(options); }
Layer Reshape(const std::vector<int64_t>& target_shape, const LayerOptions& options) {
  return named_layer<ReshapeDefinition>(options, target_shape);
}
Layer Permute(const std::vector<int64_t>& dims, const LayerOptions& options) {
  return named_layer<PermuteDefinition>(options, dims);
}
Layer RepeatVector(int64_t n, const LayerOptions& options) {
  return named_layer<RepeatVectorDefinition>(options, n);
}

}  // namespace snug

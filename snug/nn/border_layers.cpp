// ZeroPadding, Cropping and UpSampling of steps and images.

#include "snug/base/error.h"
#include "snug/nn/image_window.h"
#include "snug/nn/shape_layers.h"
#include "snug/nn/visit_settings.h"

namespace snug {
namespace {

void visit_sides(SettingVisitor& visitor, std::string_view name, Sides& sides) {
  std::vector<int64_t> list = {sides.before, sides.after};
  visitor.visit(name, list);
  if (list.empty() || list.size() > 2)
    throw Error("{}: expected one number or two, got {}", name, list.size());
  put_if_changed(sides, {list.front(), list.back()});
}

Sides sides_of(const std::vector<int64_t>& list, std::string_view name) {
  if (list.empty() || list.size() > 2)
    throw Error("{}: expected one number or two for an axis, got {}", name, list.size());
  return {list.front(), list.back()};
}

// Keras's forms: ((top, bottom), (left, right)), (vertical, horizontal) or one number for all.
void visit_sides(SettingVisitor& visitor, std::string_view name, Sides2D& sides) {
  std::vector<std::vector<int64_t>> rows = {{sides.vertical.before, sides.vertical.after},
                                            {sides.horizontal.before, sides.horizontal.after}};
  visitor.visit(name, rows);
  if (rows.size() == 2) {
    put_if_changed(sides, {sides_of(rows[0], name), sides_of(rows[1], name)});
  } else if (rows.size() == 1) {
    const Sides both = sides_of(rows[0], name);
    put_if_changed(sides, {Sides(both.before), Sides(both.after)});
  } else {
    throw Error("{}: expected {{{{top, bottom}}, {{left, right}}}}, got {} lists", name,
                rows.size());
  }
}

// Adds zeros around steps or images, or cuts elements off.
template <typename Border>
class BorderLayer final : public UnaryLayer {
 public:
  enum class Kind { pad, crop };
  BorderLayer(Kind kind, Border border) : kind_(kind), border_(border) {}

  std::string_view class_name() const override {
    if (kind_ == Kind::pad) return kSteps ? "ZeroPadding1D" : "ZeroPadding2D";
    return kSteps ? "Cropping1D" : "Cropping2D";
  }
  void settings(SettingVisitor& visitor) override {
    visit_sides(visitor, kind_ == Kind::pad ? "padding" : "cropping", border_);
    if (!kSteps) visit_data_format(visitor);
  }

 private:
  static constexpr bool kSteps = std::is_same_v<Border, Sides>;

  bool keeps_dtype() const override { return kind_ == Kind::crop; }

  // Of each axis.
  std::vector<Sides> sides() const {
    if constexpr (kSteps) {
      return {0, border_, 0};
    } else {
      return {0, border_.vertical, border_.horizontal, 0};
    }
  }

  void build_for(const Shape&) override {
    for (const Sides& side : sides()) {
      if (std::min(side.before, side.after) >= 0) continue;
      throw Error("{}: {} and {} elements; none may be negative", label(), side.before, side.after);
    }
  }

  Value apply(Tracer&, Value x) override {
    if (kSteps)
      expect_rank(x.shape(), 3, kStepAxes, kStepAdvice);
    else
      expect_rank(x.shape(), 4, kImageAxes, kImageAdvice);
    return kind_ == Kind::pad ? padded(x) : cropped(x);
  }

  Value padded(Value x) const {
    std::vector<std::array<int64_t, 2>> counts;
    for (const Sides& side : sides()) counts.push_back({side.before, side.after});
    return ops::pad(x, counts);
  }

  Value cropped(Value x) const {
    ops::SliceOptions options;
    const std::vector<Sides> cut = sides();
    for (int axis = 0; axis < x.shape().rank(); ++axis) {
      options.begin.push_back(cut[axis].before);
      const bool whole = cut[axis] == Sides();
      options.size.push_back(whole ? -1 : x.shape()[axis] - cut[axis].before - cut[axis].after);
      if (whole || options.size.back() > 0) continue;
      throw ShapeError("{}: of axis {} of {}, {} and {} elements are cut off, which leaves none",
                       label(), axis, x.shape().text(), cut[axis].before, cut[axis].after);
    }
    return ops::slice(x, options);
  }

  Kind kind_;
  Border border_;
};

class UpSampling1DDefinition final : public UnaryLayer {
 public:
  explicit UpSampling1DDefinition(int64_t size) : size_(size) {}
  std::string_view class_name() const override { return "UpSampling1D"; }
  void settings(SettingVisitor& visitor) override { visitor.visit("size", size_); }

 private:
  void build_for(const Shape&) override {
    expect_positive("size", size_, "give how often each step is repeated, 1 or more");
  }
  Value apply(Tracer&, Value x) override {
    expect_rank(x.shape(), 3, kStepAxes, kStepAdvice);
    return image_to_steps(ops::upsample2d(steps_to_image(x), {1, size_}, /*bilinear=*/false));
  }

  int64_t size_;
};

class UpSampling2DDefinition final : public UnaryLayer {
 public:
  UpSampling2DDefinition(Size2D size, const UpSampling2DOptions& options)
      : size_(size), interpolation_(options.interpolation) {}
  std::string_view class_name() const override { return "UpSampling2D"; }
  void settings(SettingVisitor& visitor) override {
    visit_size(visitor, "size", size_);
    visit_data_format(visitor);
    visitor.visit("interpolation", interpolation_);
  }

 private:
  void build_for(const Shape&) override {
    expect_positive("size", std::min(size_.height, size_.width),
                    "give how often each pixel is repeated, 1 or more");
    if (interpolation_ == "nearest" || interpolation_ == "bilinear") return;
    throw Error("{}: there is no interpolation \"{}\"; use \"nearest\" or \"bilinear\"", label(),
                interpolation_);
  }
  Value apply(Tracer&, Value x) override {
    expect_rank(x.shape(), 4, kImageAxes, kImageAdvice);
    return ops::upsample2d(x, pair_of(size_), interpolation_ == "bilinear");
  }

  Size2D size_;
  std::string interpolation_;
};

using Border1D = BorderLayer<Sides>;
using Border2D = BorderLayer<Sides2D>;

}  // namespace

Layer ZeroPadding1D(Sides padding, const LayerOptions& options) {
  return named_layer<Border1D>(options, Border1D::Kind::pad, padding);
}
Layer ZeroPadding2D(Sides2D padding, const LayerOptions& options) {
  return named_layer<Border2D>(options, Border2D::Kind::pad, padding);
}
Layer Cropping1D(Sides cropping, const LayerOptions& options) {
  return named_layer<Border1D>(options, Border1D::Kind::crop, cropping);
}
Layer Cropping2D(Sides2D cropping, const LayerOptions& options) {
  return named_layer<Border2D>(options, Border2D::Kind::crop, cropping);
}
Layer UpSampling1D(int64_t size, const LayerOptions& options) {
  return named_layer<UpSampling1DDefinition>(options, size);
}
Layer UpSampling2D(Size2D size, const UpSampling2DOptions& options) {
  return named_layer<UpSampling2DDefinition>(options, size, options);
}

}  // namespace snug

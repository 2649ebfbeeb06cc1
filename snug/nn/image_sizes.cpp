// Resizing, CenterCrop and RandomCrop: images of another size.

#include <algorithm>

#include "snug/base/error.h"
#include "snug/nn/image_preprocessing.h"
#include "snug/nn/image_window.h"
#include "snug/nn/random_stream.h"
#include "snug/nn/visit_settings.h"
#include "snug/ops/image_ops.h"

namespace snug {
namespace {

struct Window {
  int64_t top = 0, left = 0, height = 0, width = 0;
};

// The largest window in the middle with the shape of height x width.
Window shaped_window(const Shape& x, int64_t height, int64_t width) {
  Window window{.height = std::clamp<int64_t>(x[2] * height / width, 1, x[1]),
                .width = std::clamp<int64_t>(x[1] * width / height, 1, x[2])};
  window.top = (x[1] - window.height) / 2;
  window.left = (x[2] - window.width) / 2;
  return window;
}

Value cut(Value x, const Window& window) {
  if (window.height == x.shape()[1] && window.width == x.shape()[2]) return x;
  return ops::slice(
      x, {.begin = {0, window.top, window.left, 0}, .size = {-1, window.height, window.width, -1}});
}

Value resized(Value x, int64_t height, int64_t width, bool bilinear) {
  if (x.shape()[1] == height && x.shape()[2] == width) return x;
  return ops::resize2d(x, {height, width}, bilinear);
}

// A window of that size in the middle; of a smaller image, what shows most of it, scaled.
Value middle(Value x, int64_t height, int64_t width) {
  const int64_t down = x.shape()[1] - height, across = x.shape()[2] - width;
  if (down >= 0 && across >= 0) return cut(x, {down / 2, across / 2, height, width});
  return resized(cut(x, shaped_window(x.shape(), height, width)), height, width, true);
}

// A layer whose results are images of a given size.
class SizedLayer : public UnaryLayer {
 public:
  SizedLayer(int64_t height, int64_t width) : height_(height), width_(width) {}

 protected:
  void visit_size_of(SettingVisitor& visitor) {
    visitor.visit("height", height_);
    visitor.visit("width", width_);
    visit_data_format(visitor);
  }
  void build_for(const Shape& x) override {
    expect_positive("height", height_, "give the height of the result, 1 or more");
    expect_positive("width", width_, "give the width of the result, 1 or more");
    expect_rank(x, 4, kImageAxes, kImageAdvice);
  }

  int64_t height_, width_;
};

class ResizingDefinition final : public SizedLayer {
 public:
  ResizingDefinition(int64_t height, int64_t width, const ResizingOptions& options)
      : SizedLayer(height, width), options_(options) {}
  std::string_view class_name() const override { return "Resizing"; }

  void settings(SettingVisitor& visitor) override {
    visit_size_of(visitor);
    visitor.visit("interpolation", options_.interpolation);
    visitor.visit("crop_to_aspect_ratio", options_.crop_to_aspect_ratio);
    visitor.visit("pad_to_aspect_ratio", options_.pad_to_aspect_ratio);
    visitor.visit("fill_mode", fill_mode_);
    visitor.visit("fill_value", options_.fill_value);
    visitor.visit("antialias", antialias_);
  }

 private:
  void build_for(const Shape& x) override {
    SizedLayer::build_for(x);
    if (options_.interpolation != "bilinear" && options_.interpolation != "nearest") {
      throw Error("{}: interpolation is \"{}\"; Snug has \"bilinear\" and \"nearest\"", label(),
                  options_.interpolation);
    }
    if (antialias_) throw Error("{}: Snug has no antialias; leave it out", label());
    if (fill_mode_ != "constant") {
      throw Error("{}: fill_mode is \"{}\"; Keras has \"constant\" only", label(), fill_mode_);
    }
    if (options_.crop_to_aspect_ratio && options_.pad_to_aspect_ratio) {
      throw Error("{}: crop_to_aspect_ratio and pad_to_aspect_ratio exclude one another; give one",
                  label());
    }
  }

  Value apply(Tracer&, Value x) override {
    if (options_.crop_to_aspect_ratio) x = cut(x, shaped_window(x.shape(), height_, width_));
    if (options_.pad_to_aspect_ratio) x = padded(x);
    return resized(x, height_, width_, options_.interpolation == "bilinear");
  }

  // Borders of equal widths, as Keras makes them: an odd pixel is left out.
  Value padded(Value x) const {
    const Shape& shape = x.shape();
    const int64_t down = (std::max(shape[1], shape[2] * height_ / width_) - shape[1]) / 2;
    const int64_t across = (std::max(shape[2], shape[1] * width_ / height_) - shape[2]) / 2;
    if (down == 0 && across == 0) return x;
    return ops::pad(x, {{0, 0}, {down, down}, {across, across}, {0, 0}},
                    static_cast<float>(options_.fill_value));
  }

  ResizingOptions options_;
  std::string fill_mode_ = "constant";
  bool antialias_ = false;
};

class CenterCropDefinition final : public SizedLayer {
 public:
  using SizedLayer::SizedLayer;
  std::string_view class_name() const override { return "CenterCrop"; }
  void settings(SettingVisitor& visitor) override { visit_size_of(visitor); }

 private:
  Value apply(Tracer&, Value x) override { return middle(x, height_, width_); }
};

class RandomCropDefinition final : public SizedLayer {
 public:
  RandomCropDefinition(int64_t height, int64_t width, const RandomLayerOptions& options)
      : SizedLayer(height, width), seed_(options.seed) {}
  std::string_view class_name() const override { return "RandomCrop"; }
  void settings(SettingVisitor& visitor) override {
    visit_size_of(visitor);
    visitor.visit("seed", seed_);
  }

 private:
  Value apply(Tracer& tracer, Value x) override {
    const bool larger = x.shape()[1] >= height_ && x.shape()[2] >= width_;
    if (!tracer.training() || !larger) return middle(x, height_, width_);
    return ops::random_warp(x, {.kind = ops::RandomWarpOptions::Kind::crop,
                                .size = {height_, width_},
                                .stream = random_stream(tracer, seed_)});
  }

  std::optional<int64_t> seed_;
};

}  // namespace

Layer Resizing(int64_t height, int64_t width, const ResizingOptions& options) {
  return named_layer<ResizingDefinition>(options, height, width, options);
}
Layer CenterCrop(int64_t height, int64_t width, const LayerOptions& options) {
  return named_layer<CenterCropDefinition>(options, height, width);
}
Layer RandomCrop(int64_t height, int64_t width, const RandomLayerOptions& options) {
  return named_layer<RandomCropDefinition>(options, height, width, options);
}

}  // namespace snug

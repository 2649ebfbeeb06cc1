// Images brought to another size, on the loops of kernels/resize.h.

#include "snug/base/error.h"
#include "snug/base/threads.h"
#include "snug/kernels/resize.h"
#include "snug/ops/elementwise.h"
#include "snug/ops/image_ops.h"
#include "snug/ops/ops.h"

namespace snug::ops {
namespace {

using Size = std::array<int64_t, 2>;  // Height, width.

// A loop of kernels/resize.h, forward (x, y) or backward (dy, dx).
using Loop = void (*)(const kernels::Resize&, const float*, float*, int64_t) noexcept;

class ResizeKernel final : public Kernel {
 public:
  // Of the image before and after resizing; backward, the loop goes from the second to the first.
  ResizeKernel(Loop loop, const Shape& before, const Shape& after, bool backward,
               const Target& target)
      : loop_(loop),
        resize_{.height = before[1],
                .width = before[2],
                .channels = before[3],
                .out_height = after[1],
                .out_width = after[2]},
        images_(before[0]),
        threads_(elementwise_threads(after.size(), target)) {
    const int64_t image_before = before[1] * before[2] * before[3];
    const int64_t image_after = after[1] * after[2] * after[3];
    from_ = backward ? image_after : image_before;
    to_ = backward ? image_before : image_after;
  }

  void run(const Run& run) const noexcept override {
    parallel_ranges(images_, threads_, 1, [&](int64_t begin, int64_t end) {
      loop_(resize_, run.input(0) + begin * from_, run.output() + begin * to_, end - begin);
    });
  }

 private:
  Loop loop_;
  kernels::Resize resize_;
  int64_t images_, from_ = 0, to_ = 0;  // Elements of one image.
  int threads_;
};

Cost resize_cost(const Type& in, const Type& out, bool bilinear) {
  const auto large = static_cast<double>(std::max(in.shape.size(), out.shape.size()));
  return {.flops = large * (bilinear ? 8 : 1),
          .bytes = static_cast<double>(in.bytes() + out.bytes())};
}

class ResizeGradient final : public Op {
 public:
  ResizeGradient(Size before, bool bilinear) : before_(before), bilinear_(bilinear) {}

  std::string_view name() const override { return "resize2d_gradient"; }
  Types infer(const Types& in) const override {
    const Shape& dy = in[0].shape;
    return {{DType::float32, {dy.extent(0), before_[0], before_[1], dy.extent(3)}}};
  }
  Values gradient(const Node& node, const Values& dx) const override {
    const Shape& after = node.input(0).shape();
    return {resize2d(dx[0], {after[1], after[2]}, bilinear_)};
  }
  Rows rows(const Types&) const override { return Rows::each; }
  Cost cost(const Types& in) const override { return resize_cost(in[0], infer(in)[0], bilinear_); }
  std::unique_ptr<Kernel> kernel(const Types& in, const Target& target) const override {
    const Loop loop =
        bilinear_ ? kernels::resize_bilinear_gradient : kernels::resize_nearest_gradient;
    return std::make_unique<ResizeKernel>(loop, infer(in)[0].shape, in[0].shape, /*backward=*/true,
                                          target);
  }

 private:
  Size before_;
  bool bilinear_;
};

class Resize final : public Op {
 public:
  Resize(Size size, bool bilinear) : size_(size), bilinear_(bilinear) {}

  std::string_view name() const override { return "resize2d"; }
  std::string attributes() const override {
    return fmt::format("size={},{} {}", size_[0], size_[1], bilinear_ ? "bilinear" : "nearest");
  }

  Types infer(const Types& in) const override {
    const Shape& x = in[0].shape;
    bool fits = in[0].dtype == DType::float32 && x.rank() == 4;
    for (int axis = 1; fits && axis < 4; ++axis) fits = !x.extent(axis).times_rows && x[axis] > 0;
    if (!fits) {
      throw ShapeError(
          "resize2d: the image must be float32 [rows, height, width, channels], got {}",
          in[0].text());
    }
    if (size_[0] < 1 || size_[1] < 1) {
      throw ShapeError("resize2d: the size is {}, {}; each must be 1 or more", size_[0], size_[1]);
    }
    return {{DType::float32, {x.extent(0), size_[0], size_[1], x[3]}}};
  }

  Values gradient(const Node& node, const Values& dy) const override {
    const Shape& before = node.input(0).shape();
    return {dy[0].graph().add<ResizeGradient>({dy[0]}, Size{before[1], before[2]}, bilinear_)};
  }
  Rows rows(const Types&) const override { return Rows::each; }
  Cost cost(const Types& in) const override { return resize_cost(in[0], infer(in)[0], bilinear_); }
  std::unique_ptr<Kernel> kernel(const Types& in, const Target& target) const override {
    const Loop loop = bilinear_ ? kernels::resize_bilinear : kernels::resize_nearest;
    return std::make_unique<ResizeKernel>(loop, in[0].shape, infer(in)[0].shape, /*backward=*/false,
                                          target);
  }

 private:
  Size size_;
  bool bilinear_;
};

}  // namespace

Value resize2d(Value x, std::array<int64_t, 2> size, bool bilinear) {
  if (!x) throw Error("resize2d: the image is empty");
  return x.graph().add<Resize>({x}, size, bilinear);
}

Value upsample2d(Value x, std::array<int64_t, 2> factors, bool bilinear) {
  if (!x) throw Error("upsample2d: the image is empty");
  if (factors[0] < 1 || factors[1] < 1) {
    throw ShapeError("upsample2d: the factors are {}, {}; each must be 1 or more", factors[0],
                     factors[1]);
  }
  const Shape& image = x.shape();
  const bool fits = image.rank() == 4 && !image.extent(1).times_rows && !image.extent(2).times_rows;
  if (!fits) return resize2d(x, factors, bilinear);  // Says what is wrong.
  return resize2d(x, {image[1] * factors[0], image[2] * factors[1]}, bilinear);
}

}  // namespace snug::ops

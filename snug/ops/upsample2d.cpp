// Images enlarged by whole factors, on the loops of kernels/resize.h.

#include "snug/base/error.h"
#include "snug/base/threads.h"
#include "snug/kernels/resize.h"
#include "snug/ops/elementwise.h"
#include "snug/ops/ops.h"

namespace snug::ops {
namespace {

using Factors = std::array<int64_t, 2>;

// A loop of kernels/resize.h, forward (x, y) or backward (dy, dx).
using Loop = void (*)(const kernels::Resize&, const float*, float*, int64_t) noexcept;

class ResizeKernel final : public Kernel {
 public:
  // `small` and `large` are the types before and after.
  ResizeKernel(Loop loop, const Shape& small, const Shape& large, bool to_large,
               const Target& target)
      : loop_(loop),
        resize_{.height = small[1],
                .width = small[2],
                .channels = small[3],
                .out_height = large[1],
                .out_width = large[2]},
        images_(small[0]),
        threads_(elementwise_threads(large.size(), target)) {
    const int64_t small_image = small[1] * small[2] * small[3];
    const int64_t large_image = large[1] * large[2] * large[3];
    from_ = to_large ? small_image : large_image;
    to_ = to_large ? large_image : small_image;
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

class UpsampleGradient final : public Op {
 public:
  UpsampleGradient(Factors factors, bool bilinear) : factors_(factors), bilinear_(bilinear) {}

  std::string_view name() const override { return "upsample2d_gradient"; }
  Types infer(const Types& in) const override {
    const Shape& dy = in[0].shape;
    return {
        {DType::float32, {dy.extent(0), dy[1] / factors_[0], dy[2] / factors_[1], dy.extent(3)}}};
  }
  Values gradient(const Node&, const Values& dx) const override {
    return {upsample2d(dx[0], factors_, bilinear_)};
  }
  Rows rows(const Types&) const override { return Rows::each; }
  Cost cost(const Types& in) const override { return resize_cost(in[0], infer(in)[0], bilinear_); }
  std::unique_ptr<Kernel> kernel(const Types& in, const Target& target) const override {
    const Loop loop =
        bilinear_ ? kernels::resize_bilinear_gradient : kernels::resize_nearest_gradient;
    return std::make_unique<ResizeKernel>(loop, infer(in)[0].shape, in[0].shape, /*to_large=*/false,
                                          target);
  }

 private:
  Factors factors_;
  bool bilinear_;
};

class Upsample final : public Op {
 public:
  Upsample(Factors factors, bool bilinear) : factors_(factors), bilinear_(bilinear) {}

  std::string_view name() const override { return "upsample2d"; }
  std::string attributes() const override {
    return fmt::format("factors={},{} {}", factors_[0], factors_[1],
                       bilinear_ ? "bilinear" : "nearest");
  }

  Types infer(const Types& in) const override {
    if (factors_[0] < 1 || factors_[1] < 1) {
      throw ShapeError("upsample2d: the factors are {}, {}; each must be 1 or more", factors_[0],
                       factors_[1]);
    }
    const Shape& x = in[0].shape;
    bool fits = in[0].dtype == DType::float32 && x.rank() == 4;
    for (int axis = 1; fits && axis < 4; ++axis) fits = !x.extent(axis).times_rows;
    if (!fits) {
      throw ShapeError(
          "upsample2d: the image must be float32 [rows, height, width, channels], got {}",
          in[0].text());
    }
    return {{DType::float32, {x.extent(0), x[1] * factors_[0], x[2] * factors_[1], x[3]}}};
  }

  Values gradient(const Node&, const Values& dy) const override {
    return {dy[0].graph().add<UpsampleGradient>({dy[0]}, factors_, bilinear_)};
  }
  Rows rows(const Types&) const override { return Rows::each; }
  Cost cost(const Types& in) const override { return resize_cost(in[0], infer(in)[0], bilinear_); }
  std::unique_ptr<Kernel> kernel(const Types& in, const Target& target) const override {
    const Loop loop = bilinear_ ? kernels::resize_bilinear : kernels::resize_nearest;
    return std::make_unique<ResizeKernel>(loop, in[0].shape, infer(in)[0].shape, /*to_large=*/true,
                                          target);
  }

 private:
  Factors factors_;
  bool bilinear_;
};

}  // namespace

Value upsample2d(Value x, std::array<int64_t, 2> factors, bool bilinear) {
  if (!x) throw Error("upsample2d: the image is empty");
  return x.graph().add<Upsample>({x}, factors, bilinear);
}

}  // namespace snug::ops

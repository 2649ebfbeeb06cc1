// A convolution and the max pooling of its result as one node: the result is several times as large
// as what stays of it, and never stands in memory.

#include "snug/kernels/pooled_convolution.h"
#include "snug/ops/conv2d.h"
#include "snug/ops/elementwise.h"
#include "snug/ops/pool2d.h"

namespace snug::ops {
namespace {

// The work on an element of the result below which moving it counts, and the share of the result
// that no window looks at from which leaving that out counts.
constexpr int64_t kShallow = 64;
constexpr double kUnseen = 0.1;
// Beyond this depth, or with more taps, our own loops fall behind the library's.
constexpr int64_t kDeepest = 1152;
constexpr int64_t kMostTaps = 9;

// The two ops' attributes, and the names of what they read.
struct Joined {
  ConvolutionWindow window;
  Pool2DOptions pool;

  // At the rows of the image; at one where they are open.
  PooledShape shape(const Type& image, const Shape& kernel) const {
    const ConvolutionShape c = convolution_geometry(window, image.shape, kernel);
    const Type result{DType::float32, {1, c.out_height(), c.out_width(), c.filters}};
    return {c, pool_over("conv2d_max_pool2d", pool, result)};
  }
};

double products_a_row(const PooledShape& s) {
  const ConvolutionShape& c = s.convolution;
  const kernels::Pool& p = s.pool;
  const int64_t height = (p.out_height - 1) * p.stride_height + p.kernel_height;
  const int64_t width = (p.out_width - 1) * p.stride_width + p.kernel_width;
  return static_cast<double>(height * width * c.filters * c.taps() * c.channels);
}

// The share of the time that loops which work window by window take of it.
constexpr double kResultByWindows = 0.7, kGradientByWindows = 0.55;

Cost joined_cost(const PooledShape& shape, const Types& in, const Types& out, double by_windows) {
  Cost cost{.flops = 2 * products_a_row(shape) * static_cast<double>(shape.convolution.batch)};
  if (shape.is_by_windows()) cost.flops *= by_windows;
  for (const Type& type : in) cost.bytes += static_cast<double>(type.bytes());
  for (const Type& type : out) cost.bytes += static_cast<double>(type.bytes());
  return cost;
}

class GradientKernel final : public Kernel {
 public:
  GradientKernel(const PooledShape& shape, int threads) : gradient_(shape, threads) {}
  size_t scratch_bytes() const override { return gradient_.scratch_bytes(); }
  bool accumulates() const override { return true; }
  void run(const Run& run) const noexcept override {
    gradient_.run(run.input(0), run.input<uint8_t>(1), run.input(2), run.output(0), run.output(1),
                  run.accumulate, run.scratch);
  }

 private:
  PooledWeightsGradient gradient_;
};

// The gradients of kernel and bias from (x, places, dy).
class KernelGradient final : public Op {
 public:
  KernelGradient(const Joined& joined, const Shape& kernel) : joined_(joined), kernel_(kernel) {}

  std::string_view name() const override { return "conv2d_max_pool2d_kernel_gradient"; }
  Types infer(const Types&) const override {
    return {{DType::float32, kernel_}, {DType::float32, {kernel_[3]}}};
  }
  Values gradient(const Node&, const Values&) const override { refuse_second_gradient(name()); }
  Rows rows(const Types&) const override { return Rows::sum; }
  Cost cost(const Types& in) const override {
    return joined_cost(joined_.shape(in[0], kernel_), in, infer(in), kGradientByWindows);
  }
  std::unique_ptr<Kernel> kernel(const Types& in, const Target& target) const override {
    return std::make_unique<GradientKernel>(joined_.shape(in[0], kernel_), target.threads);
  }

 private:
  Joined joined_;
  Shape kernel_;
};

class JoinedKernel final : public Kernel {
 public:
  JoinedKernel(const PooledShape& shape, bool bias, int threads)
      : bias_(bias), forward_(shape, threads) {}
  size_t scratch_bytes() const override { return forward_.scratch_bytes(); }
  size_t prepared_bytes() const override { return forward_.packed_bytes(); }
  void prepare(const Run& run, void* prepared) const noexcept override {
    forward_.pack(run.input(1), prepared);
  }
  void run(const Run& run) const noexcept override {
    forward_.run(run.input(0), run.prepared, bias_ ? run.input(2) : nullptr, run.output(0),
                 run.output<uint8_t>(1), run.scratch);
  }

 private:
  bool bias_;
  PooledForward forward_;
};

// The pooled image and the places of the winners, from (x, kernel) or (x, kernel, bias).
class JoinedOp final : public Op {
 public:
  explicit JoinedOp(const Joined& joined) : joined_(joined) {}

  std::string_view name() const override { return "conv2d_max_pool2d"; }
  Types infer(const Types& in) const override {
    const PooledShape s = joined_.shape(in[0], in[1].shape);
    const Shape y{in[0].shape.extent(0), s.pool.out_height, s.pool.out_width, s.pool.channels};
    return {{DType::float32, y}, {DType::uint8, y}};
  }

  Values gradient(const Node& node, const Values& dy) const override {
    const Value x = node.input(0), kernel = node.input(1), places = node.output(1);
    const PooledShape s = joined_.shape(x.type(), kernel.shape());
    const Value spread = max_pool2d_gradient(
        places, dy[0], joined_.pool,
        {s.convolution.out_height(), s.convolution.out_width(), s.convolution.filters});
    const Values sums =
        x.graph().add_all<KernelGradient>({x, places, dy[0]}, joined_, kernel.shape());
    Values result = {convolution_image_gradient(joined_.window, spread, kernel, x.shape()),
                     sums[0]};
    if (node.in().size() > 2) result.push_back(sums[1]);
    return result;
  }

  Rows rows(const Types&) const override { return Rows::each; }
  Cost cost(const Types& in) const override {
    return joined_cost(joined_.shape(in[0], in[1].shape), in, infer(in), kResultByWindows);
  }
  std::unique_ptr<Kernel> kernel(const Types& in, const Target& target) const override {
    return std::make_unique<JoinedKernel>(joined_.shape(in[0], in[1].shape), in.size() > 2,
                                          target.threads);
  }

 private:
  Joined joined_;
};

bool is_worthwhile(const PooledShape& s) {
  const ConvolutionShape& c = s.convolution;
  const int64_t depth = c.taps() * c.channels;
  if (!s.is_served() || c.taps() == 1 || c.taps() > kMostTaps || depth > kDeepest) return false;
  const double all = static_cast<double>(c.out_height() * c.out_width() * c.filters * depth);
  return depth <= kShallow || products_a_row(s) < (1 - kUnseen) * all;
}

}  // namespace

Value conv2d_max_pool2d(Value convolved, const Pool2DOptions& options) {
  const Node& node = *convolved.producer();
  const ConvolutionWindow* window = convolution_window(node.op());
  if (window == nullptr || window->depthwise) return {};
  const Joined joined{*window, options};
  if (!is_worthwhile(joined.shape(node.input(0).type(), node.input(1).shape()))) return {};
  Values in;
  for (const int value : node.in()) in.push_back(convolved.graph().value(value));
  return convolved.graph().add<JoinedOp>(in, joined);
}

}  // namespace snug::ops

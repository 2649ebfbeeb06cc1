// Pooling of images over windows, on the loops of kernels/pool.h.

#include "snug/ops/pool2d.h"

#include <algorithm>
#include <limits>

#include "snug/base/error.h"
#include "snug/base/threads.h"
#include "snug/kernels/pool.h"
#include "snug/ops/elementwise.h"
#include "snug/ops/unary.h"

namespace snug::ops {
namespace {

// Windows of more places have no byte to name a place.
constexpr int64_t kMostPlaces = 256;

bool has_places(const Pool2DOptions& options) {
  return options.size[0] * options.size[1] <= kMostPlaces;
}

std::string text(const Pool2DOptions& options) {
  const Padding2D& p = options.padding;
  std::string text = fmt::format("size={},{} strides={},{}", options.size[0], options.size[1],
                                 options.strides[0], options.strides[1]);
  if (p != Padding2D())
    text += fmt::format(" padding={},{},{},{}", p.top, p.left, p.bottom, p.right);
  return text;
}

void check_options(std::string_view name, const Pool2DOptions& options) {
  const std::array<int64_t, 2>&size = options.size, &strides = options.strides;
  if (std::ranges::min(size) < 1 || std::ranges::min(strides) < 1) {
    throw ShapeError("{}: the size is {}, {} and strides {}, {}; each must be 1 or more", name,
                     size[0], size[1], strides[0], strides[1]);
  }
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  if (std::max(std::ranges::max(size), std::ranges::max(strides)) > kMost) {
    throw ShapeError("{}: the size is {}, {} and strides {}, {}; each must be at most {}", name,
                     size[0], size[1], strides[0], strides[1], kMost);
  }
  const Padding2D& p = options.padding;
  if (std::min({p.top, p.left, p.bottom, p.right}) < 0 || std::max(p.top, p.bottom) >= size[0] ||
      std::max(p.left, p.right) >= size[1]) {
    throw ShapeError(
        "{}: padding is {}, {}, {}, {} for windows of {} x {}; none may be negative, and each must "
        "be less than the window, which would see no pixel otherwise",
        name, p.top, p.left, p.bottom, p.right, size[0], size[1]);
  }
}

}  // namespace

kernels::Pool pool_over(std::string_view name, const Pool2DOptions& options, const Type& image) {
  check_options(name, options);
  const Shape& x = image.shape;
  bool fits = image.dtype == DType::float32 && x.rank() == 4;
  for (int axis = 1; fits && axis < 4; ++axis) fits = !x.extent(axis).times_rows && x[axis] > 0;
  if (!fits) {
    throw ShapeError("{}: the image must be float32 [rows, height, width, channels], got {}", name,
                     image.text());
  }
  const Padding2D& p = options.padding;
  const int64_t height = x[1] + p.top + p.bottom, width = x[2] + p.left + p.right;
  if (height < options.size[0] || width < options.size[1]) {
    throw ShapeError(
        "{}: windows of {} x {} are larger than the image {} with its padding, {} x {}; use "
        "smaller windows or \"same\" padding",
        name, options.size[0], options.size[1], x.text(), height, width);
  }
  return {.height = x[1],
          .width = x[2],
          .channels = x[3],
          .kernel_height = options.size[0],
          .kernel_width = options.size[1],
          .stride_height = options.strides[0],
          .stride_width = options.strides[1],
          .pad_top = p.top,
          .pad_left = p.left,
          .out_height = (height - options.size[0]) / options.strides[0] + 1,
          .out_width = (width - options.size[1]) / options.strides[1] + 1};
}

namespace {

Shape pooled(const Shape& x, const kernels::Pool& pool) {
  return {x.extent(0), pool.out_height, pool.out_width, pool.channels};
}

// Loops over images, a stretch of them on each thread.
class PoolKernel : public Kernel {
 public:
  PoolKernel(const kernels::Pool& pool, int64_t images, const Target& target)
      : pool_(pool),
        images_(images),
        image_(pool.height * pool.width * pool.channels),
        pooled_(pool.out_height * pool.out_width * pool.channels),
        threads_(elementwise_threads(images * std::max(image_, pooled_), target)) {}

  void run(const Run& run) const noexcept override {
    parallel_ranges(images_, threads_, 1,
                    [&](int64_t begin, int64_t end) { run_images(run, begin, end - begin); });
  }

 protected:
  virtual void run_images(const Run& run, int64_t first, int64_t count) const noexcept = 0;

  kernels::Pool pool_;
  int64_t images_, image_, pooled_;  // Elements of one image before and after.
  int threads_;
};

class MaxPoolKernel final : public PoolKernel {
 public:
  MaxPoolKernel(const kernels::Pool& pool, int64_t images, bool places, const Target& target)
      : PoolKernel(pool, images, target), places_(places) {}

 private:
  void run_images(const Run& run, int64_t first, int64_t count) const noexcept override {
    uint8_t* places = places_ ? run.output<uint8_t>(1) + first * pooled_ : nullptr;
    kernels::max_pool(pool_, run.input(0) + first * image_, run.output() + first * pooled_, places,
                      count);
  }

  bool places_;
};

// From (places or x, dy).
class MaxPoolGradientKernel final : public PoolKernel {
 public:
  MaxPoolGradientKernel(const kernels::Pool& pool, int64_t images, bool places,
                        const Target& target)
      : PoolKernel(pool, images, target), places_(places) {}

 private:
  void run_images(const Run& run, int64_t first, int64_t count) const noexcept override {
    const float* dy = run.input(1) + first * pooled_;
    float* dx = run.output() + first * image_;
    if (places_)
      kernels::max_pool_gradient(pool_, run.input<uint8_t>(0) + first * pooled_, dy, dx, count);
    else
      kernels::max_pool_gradient_from_input(pool_, run.input(0) + first * image_, dy, dx, count);
  }

  bool places_;
};

class AveragePoolKernel final : public PoolKernel {
 public:
  using PoolKernel::PoolKernel;

 private:
  void run_images(const Run& run, int64_t first, int64_t count) const noexcept override {
    kernels::average_pool(pool_, run.input(0) + first * image_, run.output() + first * pooled_,
                          count);
  }
};

class AveragePoolGradientKernel final : public PoolKernel {
 public:
  using PoolKernel::PoolKernel;

 private:
  void run_images(const Run& run, int64_t first, int64_t count) const noexcept override {
    kernels::average_pool_gradient(pool_, run.input(0) + first * pooled_,
                                   run.output() + first * image_, count);
  }
};

// What the four ops share.
class PoolOp : public Op {
 public:
  explicit PoolOp(const Pool2DOptions& options) : options_(options) {}

  std::string attributes() const override { return text(options_); }
  Rows rows(const Types&) const override { return Rows::each; }

  Cost cost(const Types& in) const override {
    const auto places = static_cast<double>(options_.size[0] * options_.size[1]);
    Cost cost;
    int64_t windows = in.back().shape.size();
    for (const Type& type : in) cost.bytes += static_cast<double>(type.bytes());
    for (const Type& type : infer(in)) {
      cost.bytes += static_cast<double>(type.bytes());
      windows = std::min(windows, type.shape.size());
    }
    cost.flops = places * static_cast<double>(windows);
    return cost;
  }

 protected:
  Pool2DOptions options_;
};

// dx of [rows, image] from (places or x, dy).
class MaxPoolGradient final : public PoolOp {
 public:
  MaxPoolGradient(const Pool2DOptions& options, const Shape& image)
      : PoolOp(options), image_(image) {}

  std::string_view name() const override { return "max_pool2d_gradient"; }
  Types infer(const Types& in) const override {
    return {{DType::float32, {in[1].shape.extent(0), image_[0], image_[1], image_[2]}}};
  }
  Values gradient(const Node&, const Values&) const override { refuse_second_gradient(name()); }
  std::unique_ptr<Kernel> kernel(const Types& in, const Target& target) const override {
    const Type dx = infer(in)[0];
    return std::make_unique<MaxPoolGradientKernel>(pool_over(name(), options_, dx), dx.shape[0],
                                                   has_places(options_), target);
  }

 private:
  Shape image_;  // [height, width, channels]
};

// y and, where a byte can name them, the places of the winners.
class MaxPool final : public PoolOp {
 public:
  using PoolOp::PoolOp;

  std::string_view name() const override { return "max_pool2d"; }

  Types infer(const Types& in) const override {
    const Shape y = pooled(in[0].shape, pool_over(name(), options_, in[0]));
    if (!has_places(options_)) return {{DType::float32, y}};
    return {{DType::float32, y}, {DType::uint8, y}};
  }

  Values gradient(const Node& node, const Values& dy) const override {
    const Value x = node.input(0), read = has_places(options_) ? node.output(1) : x;
    return {x.graph().add<MaxPoolGradient>({read, dy[0]}, options_, x.shape().part(1, 4))};
  }

  std::unique_ptr<Kernel> kernel(const Types& in, const Target& target) const override {
    return std::make_unique<MaxPoolKernel>(pool_over(name(), options_, in[0]), in[0].shape[0],
                                           has_places(options_), target);
  }
};

class AveragePoolGradient final : public PoolOp {
 public:
  AveragePoolGradient(const Pool2DOptions& options, const Shape& image)
      : PoolOp(options), image_(image) {}

  std::string_view name() const override { return "average_pool2d_gradient"; }
  Types infer(const Types& in) const override {
    return {{DType::float32, {in[0].shape.extent(0), image_[0], image_[1], image_[2]}}};
  }
  Values gradient(const Node&, const Values& dx) const override {
    return {average_pool2d(dx[0], options_)};
  }
  std::unique_ptr<Kernel> kernel(const Types& in, const Target& target) const override {
    const Type dx = infer(in)[0];
    return std::make_unique<AveragePoolGradientKernel>(pool_over(name(), options_, dx), dx.shape[0],
                                                       target);
  }

 private:
  Shape image_;  // [height, width, channels]
};

class AveragePool final : public PoolOp {
 public:
  using PoolOp::PoolOp;

  std::string_view name() const override { return "average_pool2d"; }
  Types infer(const Types& in) const override {
    return {{DType::float32, pooled(in[0].shape, pool_over(name(), options_, in[0]))}};
  }
  Values gradient(const Node& node, const Values& dy) const override {
    const Value x = node.input(0);
    return {x.graph().add<AveragePoolGradient>({dy[0]}, options_, x.shape().part(1, 4))};
  }
  std::unique_ptr<Kernel> kernel(const Types& in, const Target& target) const override {
    return std::make_unique<AveragePoolKernel>(pool_over(name(), options_, in[0]), in[0].shape[0],
                                               target);
  }
};

}  // namespace

Value max_pool2d_gradient(Value places, Value dy, const Pool2DOptions& options,
                          const Shape& image) {
  return dy.graph().add<MaxPoolGradient>({places, dy}, options, image);
}

// The largest of the rectified is the rectified largest, gradients and NaN included: after the pool
// there is less to rectify, and the backward pass keeps the pooled values instead of all. Where one
// layer convolves and rectifies, nobody else reads what it convolved.
Value max_pool2d(Value x, const Pool2DOptions& options) {
  if (!x) throw Error("max_pool2d: the image is empty");
  const Node* producer = x.producer();
  const bool rectified = options.alone && producer != nullptr && is_relu(producer->op());
  const Value from = rectified ? producer->input(0) : x;
  const bool alone = options.alone && from.producer() != nullptr &&
                     (!rectified || from.producer()->scope() == producer->scope());
  Value largest = alone ? conv2d_max_pool2d(from, options) : Value();
  if (!largest) largest = x.graph().add<MaxPool>({from}, options);
  return rectified ? relu(largest) : largest;
}

Value average_pool2d(Value x, const Pool2DOptions& options) {
  if (!x) throw Error("average_pool2d: the image is empty");
  return x.graph().add<AveragePool>({x}, options);
}

}  // namespace snug::ops

#include "snug/ops/convolution.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

#include "snug/base/threads.h"
#include "snug/kernels/depthwise3x3.h"
#include "snug/kernels/direct_convolution.h"
#include "snug/kernels/pointwise.h"
#include "snug/kernels/winograd.h"

namespace snug::ops {
namespace {

using enum ConvolutionDirection;

// The number of rows that decides, for parts of any size, which library runs and in which format it
// reads the weights.
constexpr int64_t kDecidingRows = 8;
// Below this many multiply-adds a second thread costs more than it brings.
constexpr double kWorthThreads = 5e5;
constexpr size_t kAlignment = 64;

size_t aligned(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

OnednnConvolutionShape library_shape(const ConvolutionTask& task, int64_t batch) {
  const ConvolutionShape& s = task.shape;
  return {.batch = batch,
          .height = s.height,
          .width = s.width,
          .channels = s.channels,
          .filters = s.filters,
          .kernel_height = s.kernel_height,
          .kernel_width = s.kernel_width,
          .stride_height = s.stride_height,
          .stride_width = s.stride_width,
          .dilation_height = s.dilation_height,
          .dilation_width = s.dilation_width,
          .top = s.top,
          .left = s.left,
          .bottom = s.bottom,
          .right = s.right,
          .groups = s.groups,
          .bias = task.bias,
          .accumulate = task.direction == weights_gradient};
}

// Forward and input gradient on oneDNN. The prepared weights have the format of kDecidingRows; in
// the rare case that this number of rows wants another one, each run makes that in its scratch.
class LibraryConvolution final : public Kernel {
 public:
  LibraryConvolution(const ConvolutionTask& task, OnednnConvolution deciding, int threads)
      : task_(task), convolution_(std::move(deciding)) {
    prepared_bytes_ = convolution_.weights_bytes();
    const int64_t batch = task.shape.batch;
    if (batch == kDecidingRows && threads == 1) return;
    OnednnConvolution own(library_shape(task, batch), task.direction, threads);
    const bool same = own.weights_format() == convolution_.weights_format();
    if (!same) preparing_.emplace(std::move(convolution_));
    convolution_ = std::move(own);
  }

  size_t scratch_bytes() const override {
    return convolution_.scratch_bytes() + (preparing_ ? aligned(convolution_.weights_bytes()) : 0);
  }

  size_t prepared_bytes() const override { return prepared_bytes_; }

  // A reorder between float32 formats needs no scratch.
  void prepare(const Run& run, void* prepared) const noexcept override {
    const OnednnConvolution& from = preparing_ ? *preparing_ : convolution_;
    (void)from.prepare(run.lane, run.input(1), prepared, run.scratch);
  }

  void compile(int lanes) override {
    convolution_.compile(lanes);
    if (preparing_) preparing_->compile(lanes);
  }
  int64_t compiled_bytes() const override {
    return convolution_.compiled_bytes() + (preparing_ ? preparing_->compiled_bytes() : 0);
  }
  void rest() noexcept override {
    convolution_.rest();
    if (preparing_) preparing_->rest();
  }
  void wake() noexcept override {
    convolution_.wake();
    if (preparing_) preparing_->wake();
  }

  // The primitives were made for these sizes; what could fail has failed then.
  void run(const Run& run) const noexcept override {
    const void* weights = prepared_bytes_ > 0 ? run.prepared : run.in[1];
    void* scratch = run.scratch;
    if (preparing_) {
      weights = convolution_.weights_bytes() > 0 ? run.scratch : run.in[1];
      scratch = static_cast<std::byte*>(run.scratch) + aligned(convolution_.weights_bytes());
      (void)convolution_.prepare(run.lane, run.input(1), run.scratch, scratch);
    }
    if (task_.direction == forward) {
      (void)convolution_.run_forward(run.lane, run.input(0), weights,
                                     task_.bias ? run.input(2) : nullptr, run.output(), scratch);
    } else {
      (void)convolution_.run_input_gradient(run.lane, run.input(0), weights, run.output(), scratch);
    }
  }

 private:
  ConvolutionTask task_;
  OnednnConvolution convolution_;               // For this number of rows.
  std::optional<OnednnConvolution> preparing_;  // For kDecidingRows, if its weights differ.
  size_t prepared_bytes_ = 0;
};

class LibraryWeightsGradient final : public Kernel {
 public:
  LibraryWeightsGradient(const ConvolutionTask& task, int threads)
      : bytes_(sizeof(float) * static_cast<size_t>(task.shape.taps() * task.shape.channels /
                                                   task.shape.groups * task.shape.filters)),
        convolution_(library_shape(task, task.shape.batch), weights_gradient, threads) {}

  size_t scratch_bytes() const override { return convolution_.scratch_bytes(); }
  bool accumulates() const override { return true; }
  void compile(int lanes) override { convolution_.compile(lanes); }
  int64_t compiled_bytes() const override { return convolution_.compiled_bytes(); }
  void rest() noexcept override { convolution_.rest(); }
  void wake() noexcept override { convolution_.wake(); }

  // The last step, from the library's format to Keras's, always adds: a second primitive that does
  // not would cost more than the zeros.
  void run(const Run& run) const noexcept override {
    if (!run.accumulate) std::memset(run.out[0], 0, bytes_);
    (void)convolution_.run_weights_gradient(run.lane, run.input(0), run.input(1), run.output(),
                                            run.scratch);
  }

 private:
  size_t bytes_;
  OnednnConvolution convolution_;
};

class OwnForward final : public Kernel {
 public:
  OwnForward(const ConvolutionTask& task, int threads)
      : bias_(task.bias), convolution_(task.shape, threads) {}
  size_t scratch_bytes() const override { return convolution_.scratch_bytes(); }
  void run(const Run& run) const noexcept override {
    convolution_.run(run.input(0), run.input(1), bias_ ? run.input(2) : nullptr, run.output(),
                     run.scratch);
  }

 private:
  bool bias_;
  ConvolutionForward convolution_;
};

class OwnInputGradient final : public Kernel {
 public:
  OwnInputGradient(const ConvolutionTask& task, int threads) : convolution_(task.shape, threads) {}
  size_t scratch_bytes() const override { return convolution_.scratch_bytes(); }
  void run(const Run& run) const noexcept override {
    convolution_.run(run.input(0), run.input(1), run.output(), run.scratch);
  }

 private:
  ConvolutionInputGradient convolution_;
};

// Gathered columns, or direct.
template <typename Convolution>
class OwnWeightsGradient final : public Kernel {
 public:
  OwnWeightsGradient(const ConvolutionTask& task, int threads)
      : convolution_(task.shape, threads) {}
  size_t scratch_bytes() const override { return convolution_.scratch_bytes(); }
  bool accumulates() const override { return true; }
  void run(const Run& run) const noexcept override {
    convolution_.run(run.input(0), run.input(1), run.output(), run.accumulate, run.scratch);
  }

 private:
  Convolution convolution_;
};

// Of weights that were packed once: direct, or Winograd's.
template <typename Convolution>
class PackedForward final : public Kernel {
 public:
  PackedForward(const ConvolutionTask& task, int threads)
      : bias_(task.bias), convolution_(task.shape, threads) {}
  size_t scratch_bytes() const override { return convolution_.scratch_bytes(); }
  size_t prepared_bytes() const override { return convolution_.packed_bytes(); }
  void prepare(const Run& run, void* prepared) const noexcept override {
    convolution_.pack(run.input(1), prepared);
  }
  void run(const Run& run) const noexcept override {
    convolution_.run(run.input(0), run.prepared, bias_ ? run.input(2) : nullptr, run.output(),
                     run.scratch);
  }

 private:
  bool bias_;
  Convolution convolution_;
};

class WinogradInputKernel final : public Kernel {
 public:
  WinogradInputKernel(const ConvolutionTask& task, int threads)
      : convolution_(task.shape, threads) {}
  size_t scratch_bytes() const override { return convolution_.scratch_bytes(); }
  size_t prepared_bytes() const override { return convolution_.packed_bytes(); }
  void prepare(const Run& run, void* prepared) const noexcept override {
    convolution_.pack(run.input(1), prepared);
  }
  void run(const Run& run) const noexcept override {
    convolution_.run(run.input(0), run.prepared, run.output(), run.scratch);
  }

 private:
  WinogradInputGradient convolution_;
};

// On rows of several pixels on AVX-512 1.2 to 2.5 times as fast as the library (Zen 4, 9 shapes);
// with stride 2 1.2 to 2.0 times (3 shapes, three directions).
class DepthwiseKernel final : public Kernel {
 public:
  DepthwiseKernel(const ConvolutionTask& task, int threads) : task_(task), threads_(threads) {}
  bool accumulates() const override { return task_.direction == weights_gradient; }
  void run(const Run& run) const noexcept override {
    const ConvolutionShape& s = task_.shape;
    parallel_ranges(stretches(), threads_, 1, [&](int64_t begin, int64_t end) {
      if (task_.direction == forward)
        kernels::depthwise3x3(s, {begin, end}, run.input(0), run.input(1),
                              task_.bias ? run.input(2) : nullptr, run.output());
      else if (task_.direction == input_gradient)
        kernels::depthwise3x3_input_gradient(s, {begin, end}, run.input(0), run.input(1),
                                             run.output());
      else
        kernels::depthwise3x3_weights_gradient(s, {begin, end}, run.input(0), run.input(1),
                                               run.output(), run.accumulate);
    });
  }

 private:
  int64_t stretches() const {
    if (task_.direction == forward) return kernels::depthwise3x3_rows(task_.shape);
    return task_.direction == input_gradient ? kernels::depthwise3x3_gradient_rows(task_.shape)
                                             : kernels::depthwise3x3_vectors(task_.shape);
  }

  ConvolutionTask task_;
  int threads_;
};

// A convolution of single pixels, as the product of all pixels with a small matrix: forward or its
// input's gradient, which is the same with the matrix turned.
class PointwiseKernel final : public Kernel {
 public:
  PointwiseKernel(const ConvolutionTask& task, int threads)
      : task_(task),
        threads_(threads),
        pixels_(task.shape.batch * task.shape.height * task.shape.width),
        depth_(pointwise_depth(task)),
        columns_(pointwise_columns(task)) {}

  static int64_t pointwise_depth(const ConvolutionTask& task) {
    return task.direction == forward ? task.shape.channels : task.shape.filters;
  }
  static int64_t pointwise_columns(const ConvolutionTask& task) {
    return task.direction == forward ? task.shape.filters : task.shape.channels;
  }

  size_t prepared_bytes() const override {
    return sizeof(float) * static_cast<size_t>(depth_ * columns_);
  }
  void prepare(const Run& run, void* prepared) const noexcept override {
    const int64_t filters = task_.shape.filters;
    const bool turned = task_.direction == input_gradient;
    kernels::pointwise_pack(run.input(1), depth_, columns_, turned ? 1 : filters,
                            turned ? filters : 1, static_cast<float*>(prepared));
  }
  void run(const Run& run) const noexcept override {
    parallel_ranges(pixels_, threads_, 1, [&](int64_t begin, int64_t end) {
      kernels::pointwise(run.input(0) + begin * depth_, static_cast<const float*>(run.prepared),
                         task_.bias ? run.input(2) : nullptr, run.output() + begin * columns_,
                         end - begin, depth_, columns_);
    });
  }

 private:
  ConvolutionTask task_;
  int threads_;
  int64_t pixels_, depth_, columns_;
};

// 0.94 of the library's speed, or 1.1 to 1.4 times that where the result goes to memory (Zen 4, 15
// shapes): so where it is wider than what is read. Packing large matrices in every step would take
// longer than that saves on few pixels; how many pixels a part has must not decide.
bool pointwise_is_faster(const ConvolutionTask& task) {
  constexpr int64_t kMostWeights = 256 * 1024;
  const ConvolutionShape& s = task.shape;
  const int64_t columns = PointwiseKernel::pointwise_columns(task);
  return onednn_wanted() && task.direction != weights_gradient && s.taps() == 1 && s.groups == 1 &&
         s.stride_height == 1 && s.stride_width == 1 && s.out_height() == s.height &&
         s.out_width() == s.width && s.top == 0 && s.left == 0 &&
         columns >= 2 * PointwiseKernel::pointwise_depth(task) &&
         s.channels * s.filters <= kMostWeights && kernels::pointwise_serves(columns);
}

constexpr int64_t kShortestDepthwiseRow = 6;

bool depthwise_is_faster(const ConvolutionTask& task) {
  const ConvolutionShape& s = task.shape;
  if (!onednn_wanted() || s.out_width() < kShortestDepthwiseRow) return false;
  return task.direction == input_gradient ? kernels::depthwise3x3_serves_input_gradient(s)
                                          : kernels::depthwise3x3_serves(s);
}

// Measured on AVX2 (Zen 3), 22 shapes, CPU time of one thread, parts as the planner cuts them. With
// kernels of several taps the direct gradient of the weights takes 0.55 to 1.0 of the library's
// time; the direct result 0.7 to 1.0 while the weights of 16 filters stay near L1, and more beyond
// that or with 1x1 kernels. For those, gathered columns give the gradient of the weights in 0.6 to
// 0.9 of the library's time from 96 channels on.
constexpr int64_t kDirectDepth = 1152;
constexpr int64_t kOwnChannels = 96;

// On AVX-512 (Zen 4, 18 shapes) the library is ahead or as good, but for gradients of weights with
// a few channels (1.0 to 1.15 of its speed) or with many on large images (1.04 to 1.08).
bool direct_is_faster_on_avx512(const ConvolutionTask& task) {
  const ConvolutionShape& s = task.shape;
  const bool few = s.channels >= 3 && s.channels <= 8;
  return task.direction == weights_gradient && (few || (s.channels >= 32 && s.out_width() >= 64));
}

// On AVX-512 1.06 to 1.95 times as fast as the faster of the library and the direct loops, on AVX2
// 1.02 to 2.75 times (Zen 4, 24 shapes, three directions). Weights beyond this many are left to the
// library: their points take 16/9 of their memory, and on the small images that they meet gain less
// (1.25 to 1.75).
constexpr int64_t kMostWinogradWeights = 256 * 256;

// On images of a few pixels most taps are in the padding, where the library leaves them out, and
// tiles are not full: the products of all tiles must be so much fewer than those of a sum over
// taps. At 1.4 a node gains 8 %, and its points take 1.8 times the memory of its weights.
constexpr double kFewerProducts = 1.45;

// The taps of all results along an axis that are within the image.
int64_t taps_inside(int64_t results, int64_t pixels, int64_t before) {
  int64_t taps = 0;
  for (int64_t i = -before; i < results - before; ++i)
    taps += std::clamp<int64_t>(std::min<int64_t>(i + 3, pixels) - std::max<int64_t>(i, 0), 0, 3);
  return taps;
}

bool needs_fewer_products(const ConvolutionTask& task) {
  const ConvolutionShape& s = task.shape;
  const bool of_image = task.direction == input_gradient;
  const int64_t height = of_image ? s.height : s.out_height();
  const int64_t width = of_image ? s.width : s.out_width();
  const auto points = static_cast<double>(16 * ((height + 1) / 2) * ((width + 1) / 2));
  return static_cast<double>(taps_inside(s.out_height(), s.height, s.top) *
                             taps_inside(s.out_width(), s.width, s.left)) >=
         kFewerProducts * points;
}

bool winograd_is_faster(const ConvolutionTask& task) {
  const ConvolutionShape& s = task.shape;
  return winograd_serves(s) && s.channels * s.filters <= kMostWinogradWeights &&
         needs_fewer_products(task);
}

std::unique_ptr<Kernel> winograd_kernel(const ConvolutionTask& task, int threads) {
  if (task.direction == forward)
    return std::make_unique<PackedForward<WinogradForward>>(task, threads);
  if (task.direction == input_gradient) return std::make_unique<WinogradInputKernel>(task, threads);
  return std::make_unique<OwnWeightsGradient<WinogradWeightsGradient>>(task, threads);
}

bool direct_is_faster(const ConvolutionTask& task) {
  const ConvolutionShape& s = task.shape;
  if (s.taps() == 1 || !DirectForward::serves(s)) return false;
  if (onednn_wanted()) return direct_is_faster_on_avx512(task);
  return task.direction == weights_gradient ||
         (task.direction == forward && s.taps() <= 9 && s.taps() * s.channels <= kDirectDepth);
}

bool own_is_faster(const ConvolutionTask& task) {
  const ConvolutionShape& s = task.shape;
  return task.direction == weights_gradient && !onednn_wanted() && s.groups == 1 && s.taps() == 1 &&
         s.channels >= kOwnChannels;
}

// For 1x1 kernels with strides the library's AVX2 code gathers pixels eight channels at a time into
// a scratch that it has counted by the true number of channels (seen with 2.6): it writes behind
// it.
bool overruns(const OnednnConvolution& convolution, const ConvolutionTask& task) {
  const ConvolutionShape& s = task.shape;
  const std::string_view name = convolution.implementation();
  return name.find("1x1:avx2") != name.npos && s.stride_height * s.stride_width > 1 &&
         (s.channels % 8 != 0 || s.filters % 8 != 0);
}

bool is_wanted(const OnednnConvolution& convolution, const ConvolutionTask& task) {
  const std::string_view name = convolution.implementation();
  return !convolution.allocates() && name.find("ref") == name.npos && !own_is_faster(task) &&
         !overruns(convolution, task);
}

double products_of(const ConvolutionShape& s) {
  return static_cast<double>(s.batch * s.out_height() * s.out_width()) *
         static_cast<double>(s.filters * s.channels / s.groups * s.taps());
}

int threads_for(const ConvolutionShape& s, const Target& target) {
  return products_of(s) < kWorthThreads ? 1 : target.threads;
}

}  // namespace

double convolution_flops(const ConvolutionTask& task) {
  if (!winograd_is_faster(task)) return 2 * products_of(task.shape);
  return task.direction == input_gradient ? WinogradInputGradient::flops(task.shape)
                                          : winograd_flops(task.shape);
}

std::unique_ptr<Kernel> convolution_kernel(const ConvolutionTask& task, const Target& target) {
  const int threads = threads_for(task.shape, target);
  if (depthwise_is_faster(task)) return std::make_unique<DepthwiseKernel>(task, threads);
  if (pointwise_is_faster(task)) return std::make_unique<PointwiseKernel>(task, threads);
  if (winograd_is_faster(task)) return winograd_kernel(task, threads);
  if (direct_is_faster(task)) {
    if (task.direction == forward)
      return std::make_unique<PackedForward<DirectForward>>(task, threads);
    return std::make_unique<OwnWeightsGradient<DirectWeightsGradient>>(task, threads);
  }
  // On one thread: another number of rows may have other threads.
  OnednnConvolution deciding(library_shape(task, kDecidingRows), task.direction, /*threads=*/1);
  const bool wanted = is_wanted(deciding, task);
  if (task.direction == weights_gradient) {
    if (wanted) return std::make_unique<LibraryWeightsGradient>(task, threads);
    return std::make_unique<OwnWeightsGradient<ConvolutionWeightsGradient>>(task, threads);
  }
  if (wanted) return std::make_unique<LibraryConvolution>(task, std::move(deciding), threads);
  if (task.direction == forward) return std::make_unique<OwnForward>(task, threads);
  return std::make_unique<OwnInputGradient>(task, threads);
}

}  // namespace snug::ops

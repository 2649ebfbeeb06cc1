#pragma once

#include <optional>

#include "snug/kernels/onednn_primitive.h"

namespace snug {

// A convolution of x[batch, height, width, channels] with a Keras kernel
// w[kernel_height, kernel_width, channels / groups, filters] to y[batch, out_height(), out_width(),
// filters], all dense. A depthwise kernel [kernel_height, kernel_width, channels, multiplier] is
// one with groups = channels and filters = channels * multiplier. A one-dimensional convolution has
// height 1; a transposed one is the input gradient of this one.
struct OnednnConvolutionShape {
  int64_t batch = 1;
  int64_t height = 1, width = 1, channels = 1;
  int64_t filters = 1;
  int64_t kernel_height = 1, kernel_width = 1;
  int64_t stride_height = 1, stride_width = 1;
  int64_t dilation_height = 1, dilation_width = 1;   // 1 is a dense kernel.
  int64_t top = 0, left = 0, bottom = 0, right = 0;  // Zeros around x.
  int64_t groups = 1;
  bool bias = false;        // Forward only: adds bias[filters].
  bool accumulate = false;  // Gradient of the weights only: adds to what is there.

  int64_t out_height() const {
    return (height + top + bottom - (kernel_height - 1) * dilation_height - 1) / stride_height + 1;
  }
  int64_t out_width() const {
    return (width + left + right - (kernel_width - 1) * dilation_width - 1) / stride_width + 1;
  }
};

enum class ConvolutionDirection { forward, input_gradient, weights_gradient };

// A convolution, or one of its gradients, on oneDNN. With several threads each has rows of its own,
// on run_parts: the library's own threads wait awake, and where other programs want the cores, too,
// a step took up to twenty times as long. Only where there are fewer rows than threads it is the
// library that shares the work out. Forward and input gradient read the weights in
// a format of the library's own, each direction in another one: prepare() makes it from the Keras
// kernel, once for each new kernel. The gradient of the weights comes out in Keras's layout.
// See OnednnPrimitive for threads, lanes, scratch and the result of the run functions.
class OnednnConvolution {
 public:
  OnednnConvolution(const OnednnConvolutionShape& shape, ConvolutionDirection direction,
                    int threads);

  // For each run, and for prepare().
  size_t scratch_bytes() const { return scratch_bytes_; }

  // The size of the prepared weights. 0 means that the Keras kernel is read as it is: then there is
  // nothing to prepare, and the kernel itself is given as `weights`. Also 0 for the gradient of the
  // weights.
  size_t weights_bytes() const {
    return direction_ != ConvolutionDirection::weights_gradient ? library_bytes_ : 0;
  }

  // The library's own.
  const OnednnFormat& weights_format() const { return larger_.format(1); }

  const char* implementation() const { return larger_.implementation(); }
  bool allocates() const { return larger_.allocates(); }
  // The implementation of prepare(), or of the last step of the gradient of the weights; "" if
  // none.
  const char* reorder_implementation() const { return reorder_ ? reorder_->implementation() : ""; }

  void compile(int lanes);
  int64_t compiled_bytes() const;
  void rest() noexcept;
  void wake() noexcept;

  // Reads a Keras kernel, writes `library`, all of its weights_bytes(). Each lane may prepare
  // weights of its own.
  [[nodiscard]] bool prepare(int lane, const float* kernel, void* library,
                             void* scratch) const noexcept;

  // Each for its own direction; false when called on another one. `bias` is read only if the shape
  // has one.
  [[nodiscard]] bool run_forward(int lane, const float* x, const void* weights, const float* bias,
                                 float* y, void* scratch) const noexcept;
  [[nodiscard]] bool run_input_gradient(int lane, const float* dy, const void* weights, float* dx,
                                        void* scratch) const noexcept;
  [[nodiscard]] bool run_weights_gradient(int lane, const float* x, const float* dy, float* dw,
                                          void* scratch) const noexcept;

 private:
  struct Part {
    int number;
    const OnednnPrimitive& primitive;
    int64_t row;  // The first of its rows.
    std::byte* scratch;
  };

  void add_smaller(const OnednnConvolutionShape& shape, int threads);
  Part part(int number, void* scratch) const;
  // Calls run(lane, part) for each of them, side by side; whether all returned true.
  template <typename Run>
  bool run_all(int lane, void* scratch, const Run& run) const;
  size_t gradients_bytes() const;

  ConvolutionDirection direction_;
  bool has_bias_;
  int64_t image_floats_, result_floats_;  // Of one row of x, of y.
  int parts_;                             // Each on a thread of its own.
  int64_t larger_rows_, larger_parts_;
  OnednnPrimitive larger_;                  // For parts of so many rows, which stand first.
  std::optional<OnednnPrimitive> smaller_;  // For parts with a row less.
  std::optional<OnednnPrimitive> reorder_;  // Between Keras's format and the library's.
  size_t library_bytes_ = 0;
  size_t part_bytes_ = 0;  // Of a part's scratch.
  size_t scratch_bytes_ = 0;
};

}  // namespace snug

// Pooling over steps [rows, steps, channels] and images [rows, height, width, channels].
#pragma once

#include <optional>

#include "snug/nn/size2d.h"
#include "snug/nn/unary_layer.h"

namespace snug {

template <typename Size>
struct PoolingOptions {
  std::optional<Size> strides;    // The pool's size where it is absent.
  std::string padding = "valid";  // Or "same".
  std::string name;
};
using Pooling1DOptions = PoolingOptions<int64_t>;
using Pooling2DOptions = PoolingOptions<Size2D>;

// The largest element of each window.
Layer MaxPooling1D(int64_t pool_size = 2, const Pooling1DOptions& options = {});
Layer MaxPooling2D(Size2D pool_size = 2, const Pooling2DOptions& options = {});
// The mean of each window's elements; those of the padding do not count.
Layer AveragePooling1D(int64_t pool_size = 2, const Pooling1DOptions& options = {});
Layer AveragePooling2D(Size2D pool_size = 2, const Pooling2DOptions& options = {});

struct GlobalPoolingOptions {
  bool keepdims = false;
  std::string name;
};
// Over all steps or pixels: [rows, channels], or with keepdims [rows, 1, (1,) channels].
Layer GlobalMaxPooling1D(const GlobalPoolingOptions& options = {});
Layer GlobalMaxPooling2D(const GlobalPoolingOptions& options = {});
// The mean of the steps that the mask keeps; NaN where it keeps none.
Layer GlobalAveragePooling1D(const GlobalPoolingOptions& options = {});
Layer GlobalAveragePooling2D(const GlobalPoolingOptions& options = {});

}  // namespace snug

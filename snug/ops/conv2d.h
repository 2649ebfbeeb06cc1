// What an op that joins a convolution to something else asks of it.
#pragma once

#include "snug/ops/convolution.h"
#include "snug/ops/ops.h"

namespace snug::ops {

// A convolution's attributes, without the values that it reads.
struct ConvolutionWindow {
  std::array<int64_t, 2> strides, dilation;
  Padding2D padding;
  int64_t groups = 1;
  bool depthwise = false;  // Kernel [kh, kw, in, multiplier]; groups is the number of channels.
};

// Of a convolution, from (x, kernel) or (x, kernel, bias); null for any other op.
const ConvolutionWindow* convolution_window(const Op& op);

// The convolution of images [rows, height, width, channels], at one row where the rows are open.
ConvolutionShape convolution_geometry(const ConvolutionWindow& window, const Shape& image,
                                      const Shape& kernel);

// dx of that shape.
Value convolution_image_gradient(const ConvolutionWindow& window, Value dy, Value kernel,
                                 const Shape& image);

}  // namespace snug::ops

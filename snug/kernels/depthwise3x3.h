// Depthwise convolutions with a kernel of 3 x 3 whose taps stay in registers, for the strides and
// paddings that networks use. On AVX-512 they are ahead of the library's.
#pragma once

#include "snug/kernels/im2col.h"

namespace snug::kernels {

// Multiplier 1, no dilation, stride 1 or 2 in both directions, at most one pixel of padding on a
// side, and channels in whole vectors of this machine.
bool depthwise3x3_serves(const ConvolutionShape& shape);
// Whether the gradient of the input is served: of stride 1 a convolution of dy with the taps turned
// round, and so only if that one is served.
bool depthwise3x3_serves_input_gradient(const ConvolutionShape& shape);

// A stretch of the rows of all results together, or of the vectors of channels: what one thread
// takes. The cut does not show in results.
struct DepthwiseStretch {
  int64_t begin = 0, end = 0;
};
int64_t depthwise3x3_rows(const ConvolutionShape& shape);
int64_t depthwise3x3_gradient_rows(const ConvolutionShape& shape);
int64_t depthwise3x3_vectors(const ConvolutionShape& shape);

// x [batch, height, width, channels], weights [3, 3, channels], bias [channels] or null, y [batch,
// out_height, out_width, channels].
void depthwise3x3(const ConvolutionShape& shape, DepthwiseStretch rows, const float* x,
                  const float* weights, const float* bias, float* y) noexcept;
void depthwise3x3_input_gradient(const ConvolutionShape& shape, DepthwiseStretch rows,
                                 const float* dy, const float* weights, float* dx) noexcept;
// Adds to dw if `accumulate`, otherwise overwrites it.
void depthwise3x3_weights_gradient(const ConvolutionShape& shape, DepthwiseStretch vectors,
                                   const float* x, const float* dy, float* dw,
                                   bool accumulate) noexcept;

}  // namespace snug::kernels

// Chooses the kernel of a convolution or of one of its gradients: one of our own (Winograd's,
// direct, depthwise, pointwise) where it is ahead, oneDNN where that has machine code for the
// shape, and our own matrix product of gathered columns where oneDNN would allocate.
#pragma once

#include <memory>

#include "snug/graph/kernel.h"
#include "snug/kernels/im2col.h"
#include "snug/kernels/onednn_convolution.h"

namespace snug::ops {

// Inputs and output by direction: forward (x, w[, bias]) -> y; input_gradient (dy, w) -> dx;
// weights_gradient (x, dy) -> dw, which can also be added to.
struct ConvolutionTask {
  ConvolutionShape shape;
  ConvolutionDirection direction = ConvolutionDirection::forward;
  bool bias = false;  // Forward only.
};

// Of the kernel that is chosen, which may need fewer than a sum over taps.
double convolution_flops(const ConvolutionTask& task);

// What the kernel prepares from w depends on everything but shape.batch, so that parts with
// different numbers of rows share it. The bits of a row do not depend on the batch either, but for
// the gradient of the weights.
std::unique_ptr<Kernel> convolution_kernel(const ConvolutionTask& task, const Target& target);

}  // namespace snug::ops

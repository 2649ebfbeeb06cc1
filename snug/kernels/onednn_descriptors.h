// Primitive descriptors: what shall be computed, on which formats. oneDNN chooses its
// implementation and its scratch here and computes nothing. Scratch is always the caller's.
#pragma once

#include "snug/kernels/onednn.h"

namespace snug {

using OnednnDescriptor =
    std::unique_ptr<dnnl_primitive_desc, OnednnDestroy<dnnl_primitive_desc_destroy>>;

// c = a b + bias, or c += a b + bias. A default `bias` means none.
OnednnDescriptor describe_matmul(const OnednnFormat& a, const OnednnFormat& b,
                                 const OnednnFormat& bias, const OnednnFormat& c, bool accumulate);

// to = from, or to += from, each in its own format.
OnednnDescriptor describe_reorder(const OnednnFormat& from, const OnednnFormat& to,
                                  bool accumulate);

// What a convolution does along height and width. In oneDNN's counting: a dilation of 0 is a dense
// kernel.
struct OnednnWindow {
  dnnl_dims_t strides{};
  dnnl_dims_t dilations{};
  dnnl_dims_t before{};  // Padding at the top and at the left.
  dnnl_dims_t after{};   // Padding at the bottom and at the right.
};

// The formats of a convolution's operands, or of their gradients.
struct OnednnConvolutionFormats {
  OnednnFormat x, weights, bias, y;
};

OnednnDescriptor describe_forward(const OnednnConvolutionFormats& formats,
                                  const OnednnWindow& window);
OnednnDescriptor describe_input_gradient(const OnednnConvolutionFormats& formats,
                                         const OnednnWindow& window);
OnednnDescriptor describe_weights_gradient(const OnednnConvolutionFormats& formats,
                                           const OnednnWindow& window);

}  // namespace snug

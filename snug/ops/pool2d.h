// What poolings share with the op that joins one to a convolution.
#pragma once

#include "snug/kernels/pool.h"
#include "snug/ops/ops.h"

namespace snug::ops {

// The windows over an image [rows, height, width, channels]; throws where they do not fit.
kernels::Pool pool_over(std::string_view name, const Pool2DOptions& options, const Type& image);

// dx of [rows, image] from the places of the winners.
Value max_pool2d_gradient(Value places, Value dy, const Pool2DOptions& options, const Shape& image);

// The pooling of a convolution's result that nobody else reads, as one node in place of two; empty
// where two are as good.
Value conv2d_max_pool2d(Value convolved, const Pool2DOptions& options);

}  // namespace snug::ops

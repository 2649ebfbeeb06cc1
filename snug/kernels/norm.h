// The pieces of batch, layer, RMS and group normalisation. The caller owns the order: statistics,
// coefficients, then the pass that applies them. Column sums are float32 in registers for a block
// of rows and double from block to block. Outputs may be written over an input of the same size.
#pragma once

#include <cstdint>

#include "snug/kernels/reduce.h"

namespace snug::kernels {

// With d = x[r, c] - origin[c]: sums[c] = (or +=) sum of d; squares[c] = (or +=) sum of d^2.
void batch_norm_sums(const float* x, const float* origin, double* sums, double* squares,
                     int64_t rows, int64_t channels, Output output) noexcept;

// y[r, c] = x[r, c] * scale[c] + shift[c], or that and what follows in the same pass: first the sum
// with `addend`, an array like x, where it is not null, then the function. NaN stays NaN.
enum class After : uint8_t { nothing, relu, relu6 };
struct BatchNormTail {
  const float* addend = nullptr;
  After after = After::nothing;
};
void batch_norm_apply(const float* x, const float* scale, const float* shift, float* y,
                      int64_t rows, int64_t channels, const BatchNormTail& tail = {}) noexcept;

// What followed batch_norm_apply in the same pass: wherever dy is read below, it is the gradient of
// that function's result. Its slope is found again from x * scale + shift, the same bits as there.
struct BatchNormSlope {
  After after = After::nothing;
  const float *scale = nullptr, *shift = nullptr;  // Read only where something follows.
};

// With xhat = (x - mean[c]) * rstd[c]: sum_dy[c] = (or +=) sum of dy; sum_dy_xhat[c] = (or +=) sum
// of dy * xhat. These are the gradients of beta and gamma.
void batch_norm_gradient_sums(const float* x, const float* dy, const float* mean, const float* rstd,
                              double* sum_dy, double* sum_dy_xhat, int64_t rows, int64_t channels,
                              Output output, const BatchNormSlope& slope = {}) noexcept;

// dx[r, c] = a[c] * dy[r, c] + b[c] * x[r, c] + d[c]. For batch statistics over m elements:
// a = gamma * rstd, b = -a * rstd * sum_dy_xhat / m, d = -a * sum_dy / m - b * mean.
void batch_norm_gradient(const float* x, const float* dy, const float* a, const float* b,
                         const float* d, float* dx, int64_t rows, int64_t channels,
                         const BatchNormSlope& slope = {}) noexcept;

// Layer norm of each row: y = (x - mean) * rstd * gamma + beta with rstd = 1 / sqrt(variance +
// epsilon). gamma and beta may be null; mean[rows] and rstd[rows] are written.
struct LayerNorm {
  int64_t rows = 0;
  int64_t columns = 0;
  const float* gamma = nullptr;
  const float* beta = nullptr;
  float epsilon = 1e-3f;
};
void layer_norm(const LayerNorm& norm, const float* x, float* y, float* mean, float* rstd) noexcept;
void layer_norm_gradient(const LayerNorm& norm, const float* x, const float* dy, const float* mean,
                         const float* rstd, float* dx) noexcept;

// dgamma[c] = (or +=) sum of dy * xhat; dbeta[c] = (or +=) sum of dy. Either may be null.
void layer_norm_parameter_gradients(const LayerNorm& norm, const float* x, const float* dy,
                                    const float* mean, const float* rstd, float* dgamma,
                                    float* dbeta, Output output) noexcept;

// RMS norm: y = x * rstd * gamma with rstd = 1 / sqrt(mean(x^2) + epsilon); beta is not read. Its
// dgamma is layer_norm_parameter_gradients with mean null (read as 0).
void rms_norm(const LayerNorm& norm, const float* x, float* y, float* rstd) noexcept;
void rms_norm_gradient(const LayerNorm& norm, const float* x, const float* dy, const float* rstd,
                       float* dx) noexcept;

// Group norm of x[rows, spatial, channels]: the channels of one row are cut into `groups` equal
// groups, each normalised over its channels and all of spatial. mean and rstd are [rows, groups].
struct GroupNorm {
  int64_t rows = 0;
  int64_t spatial = 1;
  int64_t channels = 0;
  int64_t groups = 1;
  const float* gamma = nullptr;
  const float* beta = nullptr;
  float epsilon = 1e-3f;
};
void group_norm(const GroupNorm& norm, const float* x, float* y, float* mean, float* rstd) noexcept;
void group_norm_gradient(const GroupNorm& norm, const float* x, const float* dy, const float* mean,
                         const float* rstd, float* dx) noexcept;

// dgamma[c], dbeta[c] = (or +=) the sums over rows and spatial. Either may be null.
void group_norm_parameter_gradients(const GroupNorm& norm, const float* x, const float* dy,
                                    const float* mean, const float* rstd, float* dgamma,
                                    float* dbeta, Output output) noexcept;

}  // namespace snug::kernels

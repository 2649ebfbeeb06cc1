// The loops of the cross-entropies from probabilities, with Keras's clipping to [1e-7, 1 - 1e-7] by
// TensorFlow's rules. A gradient is 0 where the clip binds. NaN stays NaN. A gradient may be
// written over the probabilities.
#pragma once

#include <cstdint>

namespace snug::kernels {

// Clip, then renormalise: loss[r] = -log(p[r, label] / sum_j p[r, j]). A label outside [0, columns)
// gives NaN.
void sparse_cross_entropy(const float* p, const int32_t* labels, float* loss, int64_t rows,
                          int64_t columns) noexcept;
void sparse_cross_entropy_gradient(const float* p, const int32_t* labels, const float* dloss,
                                   float* dp, int64_t rows, int64_t columns) noexcept;

// Renormalise, then clip: loss[r] = -sum_j t[r, j] * log(p[r, j] / sum_j p[r, j]). A row whose sum
// is 0 or not finite gives NaN.
void dense_cross_entropy(const float* p, const float* targets, float* loss, int64_t rows,
                         int64_t columns) noexcept;
void dense_cross_entropy_gradient(const float* p, const float* targets, const float* dloss,
                                  float* dp, int64_t rows, int64_t columns) noexcept;
// The gradient of the targets.
void dense_cross_entropy_target_gradient(const float* p, const float* dloss, float* dtargets,
                                         int64_t rows, int64_t columns) noexcept;

// loss[i] = -(t * log(p) + (1 - t) * log(1 - p)).
void binary_cross_entropy(const float* p, const float* targets, float* loss, int64_t n) noexcept;
void binary_cross_entropy_gradient(const float* p, const float* targets, const float* dloss,
                                   float* dp, int64_t n) noexcept;
void binary_cross_entropy_target_gradient(const float* p, const float* dloss, float* dtargets,
                                          int64_t n) noexcept;

}  // namespace snug::kernels

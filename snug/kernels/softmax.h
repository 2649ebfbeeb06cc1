// Softmax, log-softmax and the cross-entropies from logits, row by row, with their gradients. Each
// row's maximum is taken out first, so nothing overflows. A NaN or +infinity in a row makes the
// whole row NaN; -infinity has probability 0. Outputs may be written over an input of the same
// size.
#pragma once

#include <cstdint>

namespace snug::kernels {

void softmax(const float* x, float* y, int64_t rows, int64_t columns) noexcept;
void log_softmax(const float* x, float* y, int64_t rows, int64_t columns) noexcept;

// dx = y * (dy - sum(y * dy)), from the output of softmax.
void softmax_gradient(const float* y, const float* dy, float* dx, int64_t rows,
                      int64_t columns) noexcept;

// dx = dy - exp(y) * sum(dy), from the output of log_softmax.
void log_softmax_gradient(const float* y, const float* dy, float* dx, int64_t rows,
                          int64_t columns) noexcept;

// loss[r] = log(sum_j exp(x[r, j])) - x[r, label]. A label outside [0, columns) gives NaN.
void softmax_cross_entropy(const float* logits, const int32_t* labels, float* loss, int64_t rows,
                           int64_t columns) noexcept;

// dlogits = (softmax(logits) - one_hot(label)) * row_scale[r]; NaN in a row whose label is outside.
void softmax_cross_entropy_gradient(const float* logits, const int32_t* labels,
                                    const float* row_scale, float* dlogits, int64_t rows,
                                    int64_t columns) noexcept;

// The same with a distribution as target: loss[r] = sum_j target[r, j] * (log-sum-exp - x[r, j]).
void dense_softmax_cross_entropy(const float* logits, const float* targets, float* loss,
                                 int64_t rows, int64_t columns) noexcept;

// dlogits = (softmax(logits) - target) * row_scale[r], as TensorFlow has it: a target that does not
// sum to 1 is not made up for.
void dense_softmax_cross_entropy_gradient(const float* logits, const float* targets,
                                          const float* row_scale, float* dlogits, int64_t rows,
                                          int64_t columns) noexcept;

// dtargets = -log_softmax(logits) * row_scale[r].
void dense_softmax_cross_entropy_target_gradient(const float* logits, const float* row_scale,
                                                 float* dtargets, int64_t rows,
                                                 int64_t columns) noexcept;

// loss[i] = max(x, 0) - x * target + log1p(exp(-|x|)), element by element.
void sigmoid_cross_entropy(const float* logits, const float* targets, float* loss,
                           int64_t n) noexcept;

// dlogits[i] = (sigmoid(logits[i]) - targets[i]) * dloss[i].
void sigmoid_cross_entropy_gradient(const float* logits, const float* targets, const float* dloss,
                                    float* dlogits, int64_t n) noexcept;

}  // namespace snug::kernels

// Reductions of float32 arrays. Sums run in several vector accumulators over short blocks whose
// results are added up again, so the error stays near that of a tree; the order is fixed by the
// sizes and the instruction set. NaN never vanishes: any NaN makes the result NaN.
#pragma once

#include <cstdint>

namespace snug::kernels {

// Of no elements: sums are 0, prod 1, max -infinity, min +infinity, mean NaN.
enum class Reduction : uint8_t { sum, mean, max, min, prod, sum_squares, sum_abs };

// Whether a result replaces what stands in the output or is added to it.
enum class Output : uint8_t { write, add };

float reduce(Reduction reduction, const float* x, int64_t n) noexcept;

// y[c] = the reduction of column c of x[rows, columns].
void reduce_columns(Reduction reduction, const float* x, float* y, int64_t rows,
                    int64_t columns) noexcept;

// y[o, i] = the reduction of x[outer, middle, inner] over its middle axis.
void reduce_middle(Reduction reduction, const float* x, float* y, int64_t outer, int64_t middle,
                   int64_t inner) noexcept;

// y[c] = (or +=) the sum of column c of x[rows, columns]: the gradient of a bias.
void column_sums(const float* x, float* y, int64_t rows, int64_t columns, Output output) noexcept;

// The dot product of two stretches.
float dot(const float* a, const float* b, int64_t n) noexcept;

// The index of the largest element. Of equal ones the first wins; the first NaN wins over every
// number. n is at least 1 and below 2^31.
int32_t arg_max(const float* x, int64_t n) noexcept;
void arg_max_rows(const float* x, int32_t* y, int64_t rows, int64_t columns) noexcept;

// How many of the elements equal y; and dx[i] = share where x[i] equals y, else 0 * share.
int64_t count_equal(const float* x, float y, int64_t n) noexcept;
void share_out(const float* x, float y, float share, float* dx, int64_t n) noexcept;

// What the guard wants to know of a gradient, in one pass.
struct Magnitude {
  float largest = 0;       // The largest |x|; NaN if there is a NaN.
  double sum_squares = 0;  // In double from block to block.
  bool finite = true;
};
Magnitude magnitude(const float* x, int64_t n) noexcept;

}  // namespace snug::kernels

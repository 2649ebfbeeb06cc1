#include "snug/nn/orthonormal_rows.h"

#include <cmath>

namespace snug {
namespace {

float dot(const float* a, const float* b, int64_t length) {
  // Eight sums, so that the compiler can use vectors, and with smaller rounding errors.
  float sums[8] = {};
  int64_t i = 0;
  for (; i + 8 <= length; i += 8) {
    for (int lane = 0; lane < 8; ++lane) sums[lane] += a[i + lane] * b[i + lane];
  }
  for (; i < length; ++i) sums[0] += a[i] * b[i];
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

}  // namespace

// Gram and Schmidt, each vector freed of the earlier ones twice: once leaves what rounding left.
void make_orthonormal_rows(std::span<float> vectors, int64_t count, int64_t length) {
  for (int64_t row = 0; row < count; ++row) {
    float* vector = vectors.data() + row * length;
    for (int pass = 0; pass < 2; ++pass) {
      for (int64_t earlier = 0; earlier < row; ++earlier) {
        const float* other = vectors.data() + earlier * length;
        const float share = dot(vector, other, length);
        for (int64_t i = 0; i < length; ++i) vector[i] -= share * other[i];
      }
      const float scale = 1 / std::sqrt(dot(vector, vector, length));
      for (int64_t i = 0; i < length; ++i) vector[i] *= scale;
    }
  }
}

}  // namespace snug

#include "snug/kernels/transpose.h"

#include "snug/kernels/test_values.h"

namespace snug::kernels {
namespace {

TEST(Transpose, PlanesInsideWiderArrays) {
  for (const int64_t rows : {1, 4, 7, 32, 65}) {
    for (const int64_t columns : {1, 3, 16, 33, 100}) {
      const int64_t x_stride = columns + 5, y_stride = rows + 3;
      const Floats x = random_values(rows * x_stride);
      Floats y(static_cast<size_t>(columns * y_stride), 77.0f);
      transpose_plane(x.data(), x_stride, y.data(), y_stride, rows, columns);
      for (int64_t c = 0; c < columns; ++c) {
        for (int64_t r = 0; r < y_stride; ++r) {
          const float expected = r < rows ? x[static_cast<size_t>(r * x_stride + c)] : 77.0f;
          ASSERT_EQ(y[static_cast<size_t>(c * y_stride + r)], expected);
        }
      }
    }
  }
}

}  // namespace
}  // namespace snug::kernels

// Element-wise functions of two float32 arrays. The result may be written over an input of the same
// size (the same address exactly). NaN in either operand gives NaN.
#pragma once

#include <cstdint>

namespace snug::kernels {

enum class Binary : uint8_t {
  add,
  subtract,
  multiply,
  divide,         // IEEE: 1 / 0 is infinity, 0 / 0 is NaN.
  divide_no_nan,  // 0 where b is 0 and a is not NaN.
  maximum,
  minimum,
  squared_difference,
  pow,  // As std::pow, so pow(NaN, 0) and pow(1, NaN) are 1; but denormal numbers count as 0.
};
inline constexpr int kBinaryCount = static_cast<int>(Binary::pow) + 1;

// One function in all the forms that broadcasting needs. Rows are contiguous, of `columns` floats.
struct BinaryKernels {
  using Flat = void (*)(const float* a, const float* b, float* y, int64_t n);
  using Rows = void (*)(const float* a, const float* b, float* y, int64_t rows, int64_t columns);

  Flat same;              // y[i] = f(a[i], b[i])
  Flat scalar_left;       // y[i] = f(a[0], b[i])
  Flat scalar_right;      // y[i] = f(a[i], b[0])
  Rows periodic_left;     // y[r, c] = f(a[c], b[r, c])
  Rows periodic_right;    // y[r, c] = f(a[r, c], b[c])
  Rows row_scalar_left;   // y[r, c] = f(a[r], b[r, c])
  Rows row_scalar_right;  // y[r, c] = f(a[r, c], b[r])
};

// The table for this machine; it lives as long as the program.
const BinaryKernels& binary_kernels(Binary function) noexcept;

}  // namespace snug::kernels

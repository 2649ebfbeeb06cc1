// Comparisons, logic and choice. Truth is one byte, 0 or 1; any byte but 0 is read as true.
// Outputs may be written over an input of the same element size (the same address exactly).
#pragma once

#include <cstdint>

namespace snug::kernels {

enum class Comparison : uint8_t { equal, not_equal, less, less_equal, greater, greater_equal };
inline constexpr int kComparisonCount = static_cast<int>(Comparison::greater_equal) + 1;

// As BinaryKernels, with bytes as the result. Every comparison with NaN is false, but not_equal.
struct ComparisonKernels {
  using Flat = void (*)(const float* a, const float* b, uint8_t* y, int64_t n);
  using Rows = void (*)(const float* a, const float* b, uint8_t* y, int64_t rows, int64_t columns);

  Flat same;              // y[i] = a[i] ? b[i]
  Flat scalar_left;       // y[i] = a[0] ? b[i]
  Flat scalar_right;      // y[i] = a[i] ? b[0]
  Rows periodic_left;     // y[r, c] = a[c] ? b[r, c]
  Rows periodic_right;    // y[r, c] = a[r, c] ? b[c]
  Rows row_scalar_left;   // y[r, c] = a[r] ? b[r, c]
  Rows row_scalar_right;  // y[r, c] = a[r, c] ? b[r]
};

// The table for this machine; it lives as long as the program.
const ComparisonKernels& comparison_kernels(Comparison comparison) noexcept;

void logical_and(const uint8_t* a, const uint8_t* b, uint8_t* y, int64_t n) noexcept;
void logical_or(const uint8_t* a, const uint8_t* b, uint8_t* y, int64_t n) noexcept;
void logical_not(const uint8_t* x, uint8_t* y, int64_t n) noexcept;
bool any(const uint8_t* x, int64_t n) noexcept;  // False when n is 0.
bool all(const uint8_t* x, int64_t n) noexcept;  // True when n is 0.

// y[i] = x[i] is neither infinite nor NaN.
void is_finite(const float* x, uint8_t* y, int64_t n) noexcept;

// y[i] = condition[i] ? a[i] : b[i]. A NaN that is not chosen does not show.
void select(const uint8_t* condition, const float* a, const float* b, float* y, int64_t n) noexcept;

}  // namespace snug::kernels

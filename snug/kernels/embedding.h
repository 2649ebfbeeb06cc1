// Rows of a table by index, and the gradient of that.
#pragma once

#include <cstddef>
#include <cstdint>

namespace snug::kernels {

// y[i, :] = table[indices[i], :]. A row whose index is outside [0, table_rows) becomes NaN.
void gather_rows(const float* table, int64_t table_rows, const int32_t* indices, float* y,
                 int64_t n, int64_t columns) noexcept;

// The gradient of gather_rows as rows with their sums: writes the distinct indices in the order in
// which they first appear to unique[n] and, for each, the sum of its rows of dy[n, columns] in the
// order in which they appear to sums[n, columns]; what is behind the last distinct row is not
// touched. Answers how many are distinct. `scratch` has row_sums_scratch_bytes(n) bytes, aligned to
// 4. Takes time proportional to n * columns.
size_t row_sums_scratch_bytes(int64_t n) noexcept;
int64_t row_sums(const int32_t* indices, const float* dy, int64_t n, int64_t columns,
                 int32_t* unique, float* sums, void* scratch) noexcept;

// table[indices[i], :] += dy[i, :], in order. Indices outside [0, table_rows) are left out.
void scatter_add(const int32_t* indices, const float* dy, int64_t n, int64_t columns, float* table,
                 int64_t table_rows) noexcept;

// y[i, :] = `off` but for `on` at labels[i]; a label outside [0, columns) gives a row of zeros, as
// Keras.
void one_hot(const int32_t* labels, float* y, int64_t n, int64_t columns, float on = 1,
             float off = 0) noexcept;

}  // namespace snug::kernels

// Numbers in text, many at a time: where the cells end, what they say, and their sums by columns.
#pragma once

#include <cstddef>
#include <cstdint>

namespace snug::kernels {

// Bytes around a text that find_cells() and parse_decimals() may read; what they hold does not
// matter.
constexpr size_t kTextPadding = 64;

struct CellCount {
  size_t cells = 0;
  size_t lines = 0;
};

// Where cells end in text[0 .. size): the positions of each `delimiter` and `newline` go to `ends`,
// the number of cells up to and with each line's last one to `cells_to`. Both have room for size +
// kTextPadding.
CellCount find_cells(const char* text, size_t size, char delimiter, char newline, uint32_t* ends,
                     uint32_t* cells_to) noexcept;

// The value of each cell, the first of which begins at `begin` and each other one behind the end of
// the one before, where it is a plain number (digits, a sign, a point) of at most 16 characters
// behind the sign and below 2^53 without its point: then the float64 is exact to the last bit. NaN
// for any other text. A '\r' before a '\n' belongs to the line end. Returns how many are NaN.
size_t parse_decimals(const char* text, size_t begin, const uint32_t* ends, size_t cells,
                      double* values) noexcept;

// Sums over the rows of a matrix, a number for each column.
struct ColumnSums {
  const double* origin;  // What differences are taken from.
  double *count, *whole;
  double *sum, *squares;  // Of the differences.
  double *min, *max;
};

// Adds rows x columns values, row after row; NaN is passed over.
void add_columns(const double* values, size_t rows, size_t columns, const ColumnSums& to) noexcept;

// to[r * stride + c] = float((values[r * columns + c] - shift[c]) * scale[c]). False when one of
// them is NaN or infinite.
bool scale_columns(const double* values, size_t rows, size_t columns, const double* shift,
                   const double* scale, float* to, size_t stride) noexcept;

struct ByteCounts {
  size_t first = 0, second = 0;
};

// How often each of two bytes comes.
ByteCounts count_bytes(const char* text, size_t size, char first, char second) noexcept;

}  // namespace snug::kernels

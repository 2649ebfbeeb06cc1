// Chooses the kernel of a matrix product: oneDNN where it is fast and allocates nothing of weight,
// our own otherwise.
#pragma once

#include <memory>

#include "snug/graph/kernel.h"

namespace snug::ops {

// `batch` products of dense row-major matrices, one after the other: c [m, n] = a [m, k] b [k, n]
// (+ bias [n]). A transposed operand is stored as its transpose.
struct MatrixProduct {
  int64_t batch = 1;
  int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
  bool bias = false;  // The third input.
  // b is the same in every part of the rows, so that it may be packed once a step.
  bool constant_b = false;
  // The result is a sum over rows: run() must be able to add to it.
  bool accumulates = false;
};

// Inputs (a, b[, bias]), output c.
std::unique_ptr<Kernel> matrix_product_kernel(const MatrixProduct& product, const Target& target);

}  // namespace snug::ops

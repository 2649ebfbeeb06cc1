#pragma once

#include "snug/kernels/onednn_primitive.h"

namespace snug {

// `batch` products c[rows, columns] = a[rows, depth] b[depth, columns], all row-major and dense,
// one after the other. A transposed operand stands in memory as its transpose: a as [depth, rows],
// b as [columns, depth].
struct OnednnMatmulShape {
  int64_t batch = 1;
  int64_t rows = 0, columns = 0, depth = 0;
  bool transpose_a = false, transpose_b = false;
  bool bias = false;        // Adds bias[columns] to every row.
  bool accumulate = false;  // Adds to what is in c.
};

// Matrix products on oneDNN. See OnednnPrimitive for threads, lanes, scratch and the result of run.
class OnednnMatmul {
 public:
  OnednnMatmul(const OnednnMatmulShape& shape, int threads);

  size_t scratch_bytes() const { return primitive_.scratch_bytes(); }
  const char* implementation() const { return primitive_.implementation(); }
  bool allocates() const { return primitive_.allocates(); }
  void compile(int lanes) { primitive_.compile(lanes); }
  int64_t compiled_bytes() const { return primitive_.compiled_bytes(); }
  void rest() noexcept { primitive_.rest(); }
  void wake() noexcept { primitive_.wake(); }

  // `bias` is read only if the shape has one.
  [[nodiscard]] bool run(int lane, const float* a, const float* b, const float* bias, float* c,
                         void* scratch) const noexcept;

 private:
  bool has_bias_;
  OnednnPrimitive primitive_;
};

}  // namespace snug

// Our own float32 matrix product: bounded scratch, stable bits, nothing allocated while it runs.
// It is the path for CPUs without AVX-512 and for small products on every CPU.
#pragma once

#include <cstddef>
#include <cstdint>

#include "snug/tensor/noted_magnitude.h"

namespace snug {

// C[m,n] = A[m,k] B[k,n], all row-major; lda, ldb, ldc are the distances between stored rows. A
// transposed A is stored [k,m], a transposed B [n,k].
struct GemmShape {
  int64_t m = 0, n = 0, k = 0;
  bool transpose_a = false, transpose_b = false;
  int64_t lda = 0, ldb = 0, ldc = 0;
};

// A shape whose rows are stored without gaps.
GemmShape dense_gemm(int64_t m, int64_t n, int64_t k, bool transpose_a = false,
                     bool transpose_b = false);

// A product of one shape on at most `threads` threads, chosen once, then only run. The bits of a
// row of C depend on n, k, the transposes and the instruction set; not on m, the number of threads,
// the strides, nor on whether B was packed. No product with a zero is skipped, so NaN and inf go
// where IEEE sends them.
class Gemm {
 public:
  // B as given to each run, or always packed beforehand, which spares scratch.
  enum class Operand { plain, packed };
  Gemm(const GemmShape& shape, int threads, Operand b = Operand::plain);

  // For all threads together. The base given to run() is aligned to 64 bytes.
  size_t scratch_bytes() const { return scratch_bytes_; }

  // A B that stays the same over many runs (weights) can be packed once into this many bytes,
  // aligned to 64.
  size_t packed_bytes() const;
  void pack(const float* b, void* packed) const noexcept;
  // Only the rows [first, first + rows) of B, from a matrix of their own with stored rows ldb
  // apart.
  void pack_rows(const float* b, int64_t ldb, int64_t first, int64_t rows,
                 void* packed) const noexcept;

  struct Arguments {
    const float* a = nullptr;
    const float* b = nullptr;        // not read if packed_b is given
    const void* packed_b = nullptr;  // or null
    float* c = nullptr;              // overlaps no input
    const float* bias = nullptr;     // [n], added after the sum, or null
    bool accumulate = false;         // adds to C instead of overwriting it
    // [notes()] or null: where those of C are noted, one for each of its rectangles.
    NotedMagnitude* notes = nullptr;
  };
  void run(const Arguments& arguments, void* scratch) const noexcept;

  // How many notes a run makes; 0 where it cannot. Their sums depend on the number of threads.
  int notes() const;

 private:
  enum class Split { rectangles, depth };
  void choose_split(int threads, Operand b);
  void run_rectangle(const Arguments& arguments, int part, void* scratch) const;
  void run_depth(const Arguments& arguments, void* scratch) const;

  GemmShape shape_;
  Split split_ = Split::rectangles;
  int row_parts_ = 1, column_parts_ = 1;  // the grid of rectangles of C, one a thread
  int64_t row_step_ = 1;                  // its rows begin at multiples of this
  int64_t wave_ = 0;                      // blocks of k that run side by side, if split by depth
  size_t part_bytes_ = 0;
  size_t scratch_bytes_ = 0;
};

}  // namespace snug

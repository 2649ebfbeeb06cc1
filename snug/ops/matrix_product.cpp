#include "snug/ops/matrix_product.h"

#include <algorithm>

#include "snug/base/threads.h"
#include "snug/graph/magnitude_notes.h"
#include "snug/kernels/gemm.h"
#include "snug/kernels/onednn.h"
#include "snug/kernels/onednn_matmul.h"

namespace snug::ops {
namespace {

// Weights and products below these sizes are done before a call of the library would have begun.
constexpr int64_t kSmallWeights = 16 * 1024;
constexpr double kSmallProduct = 1e6;
constexpr size_t kAlignment = 64;

bool has_small_weights(const MatrixProduct& p) { return p.n * p.k < kSmallWeights; }

// Of one product of the batch.
double multiply_adds(const MatrixProduct& p) {
  return static_cast<double>(p.m) * static_cast<double>(p.n) * static_cast<double>(p.k);
}

// For rows times weights, and for a product for each row, it must not depend on the rows: parts of
// any size give a row the same bits and share what is prepared.
bool is_small(const MatrixProduct& p) {
  return p.constant_b ? has_small_weights(p) : multiply_adds(p) < kSmallProduct;
}

// The library takes no operand without elements.
bool is_empty(const MatrixProduct& p) { return std::min({p.batch, p.m, p.n, p.k}) == 0; }

size_t aligned(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// A gradient of weights over few rows: our own product is as fast as the library's (Zen 4, within 2
// %), and cuts it as the update will, so that each thread finds in its own cache what it needs.
constexpr int64_t kFewRows = 256;

bool is_shared_gradient(const MatrixProduct& p, const Target& target) {
  return target.threads > 1 && p.accumulates && p.batch == 1 && p.k <= kFewRows;
}

// The threads share the products of a batch; a product alone is cut.
class OwnProduct final : public Kernel, public NotesMagnitudes {
 public:
  OwnProduct(const MatrixProduct& p, int threads)
      : product_(p),
        threads_(static_cast<int>(std::clamp<int64_t>(p.batch, 1, threads))),
        gemm_(dense_gemm(p.m, p.n, p.k, p.transpose_a, p.transpose_b), p.batch > 1 ? 1 : threads) {}

  size_t scratch_bytes() const override { return aligned(gemm_.scratch_bytes()) * threads_; }
  bool accumulates() const override { return product_.accumulates; }
  size_t prepared_bytes() const override { return packs() ? gemm_.packed_bytes() : 0; }

  std::span<const NotedMagnitude> note_magnitudes() override {
    if (notes_.empty() && product_.batch == 1) notes_.resize(static_cast<size_t>(gemm_.notes()));
    return notes_;
  }

  void prepare(const Run& run, void* prepared) const noexcept override {
    gemm_.pack(run.input(1), prepared);
  }

  void run(const Run& run) const noexcept override {
    parallel_parts(threads_, [&](int part) {
      auto* scratch = static_cast<std::byte*>(run.scratch) + aligned(gemm_.scratch_bytes()) * part;
      const int64_t end = product_.batch * (part + 1) / threads_;
      for (int64_t i = product_.batch * part / threads_; i < end; ++i) run_one(run, i, scratch);
    });
  }

 private:
  void run_one(const Run& run, int64_t i, void* scratch) const noexcept {
    gemm_.run({.a = run.input(0) + i * product_.m * product_.k,
               .b = run.input(1) + i * product_.k * product_.n,
               .packed_b = packs() ? run.prepared : nullptr,
               .c = run.output() + i * product_.m * product_.n,
               .bias = product_.bias ? run.input(2) : nullptr,
               .accumulate = run.accumulate,
               .notes = notes_.empty() ? nullptr : notes_.data()},
              scratch);
  }

  // Packing depends on the weights only, so parts of any number of rows share it. A small product
  // reads them as they are. Whether it is small must not depend on the rows.
  bool packs() const { return product_.constant_b && product_.n * product_.k >= 16 * 1024; }

  MatrixProduct product_;
  int threads_;  // That share a batch.
  Gemm gemm_;
  mutable std::vector<NotedMagnitude> notes_;  // Written by a run; none where nobody wants them.
};

// Weights above this are read from memory: each thread its share of them, as the library does it.
constexpr int64_t kCachedWeights = 4 << 20;

// Each thread takes a stretch of the rows, with primitives of one thread: nothing then depends on
// how the library's threads wait for each other. Not so a transposed a, whose rows stand apart.
int row_parts(const MatrixProduct& p, int threads) {
  const bool cuts = p.batch == 1 && !p.transpose_a && p.n * p.k <= kCachedWeights;
  return cuts ? static_cast<int>(std::min<int64_t>(threads, p.m)) : 1;
}

class LibraryProduct final : public Kernel {
 public:
  LibraryProduct(const MatrixProduct& p, int threads)
      : product_(p),
        parts_(row_parts(p, threads)),
        part_rows_((p.m + parts_ - 1) / parts_),
        matmul_(shape(p, part_rows_, false), parts_ > 1 ? 1 : threads) {
    if (p.accumulates) adding_ = std::make_unique<OnednnMatmul>(shape(p, p.m, true), threads);
    const int64_t rest = p.m - part_rows_ * ((p.m - 1) / part_rows_);
    if (rest != part_rows_) rest_ = std::make_unique<OnednnMatmul>(shape(p, rest, false), 1);
  }

  size_t scratch_bytes() const override {
    return std::max(part_bytes() * parts_, adding_ ? adding_->scratch_bytes() : 0);
  }
  bool accumulates() const override { return adding_ != nullptr; }

  void compile(int lanes) override {
    matmul_.compile(std::max(lanes, parts_));
    if (adding_) adding_->compile(lanes);
    if (rest_) rest_->compile(1);
  }
  int64_t compiled_bytes() const override {
    return matmul_.compiled_bytes() + (adding_ ? adding_->compiled_bytes() : 0) +
           (rest_ ? rest_->compiled_bytes() : 0);
  }
  void rest() noexcept override {
    matmul_.rest();
    if (adding_) adding_->rest();
    if (rest_) rest_->rest();
  }
  void wake() noexcept override {
    matmul_.wake();
    if (adding_) adding_->wake();
    if (rest_) rest_->wake();
  }

  // The primitives were made for these sizes; what could fail has failed then.
  void run(const Run& run) const noexcept override {
    if (run.accumulate) return run_product(*adding_, run.lane, run, 0, run.scratch);
    if (parts_ == 1) return run_product(matmul_, run.lane, run, 0, run.scratch);
    parallel_parts(parts_, [&](int part) {
      void* scratch = static_cast<std::byte*>(run.scratch) + part_bytes() * part;
      const int64_t first = part_rows_ * part, left = product_.m - first;
      if (left >= part_rows_) return run_product(matmul_, part, run, first, scratch);
      if (left > 0) run_product(*rest_, 0, run, first, scratch);
    });
  }

 private:
  static OnednnMatmulShape shape(const MatrixProduct& p, int64_t rows, bool accumulate) {
    return {.batch = p.batch,
            .rows = rows,
            .columns = p.n,
            .depth = p.k,
            .transpose_a = p.transpose_a,
            .transpose_b = p.transpose_b,
            .bias = p.bias,
            .accumulate = accumulate};
  }

  size_t part_bytes() const {
    return aligned(std::max(matmul_.scratch_bytes(), rest_ ? rest_->scratch_bytes() : 0));
  }

  void run_product(const OnednnMatmul& matmul, int lane, const Run& run, int64_t first_row,
                   void* scratch) const noexcept {
    (void)matmul.run(lane, run.input(0) + first_row * product_.k, run.input(1),
                     product_.bias ? run.input(2) : nullptr, run.output() + first_row * product_.n,
                     scratch);
  }

  MatrixProduct product_;
  int parts_;
  int64_t part_rows_;
  OnednnMatmul matmul_;                   // Of a part.
  std::unique_ptr<OnednnMatmul> rest_;    // Of the last part, where it has fewer rows.
  std::unique_ptr<OnednnMatmul> adding_;  // Of all rows.
};

}  // namespace

std::unique_ptr<Kernel> matrix_product_kernel(const MatrixProduct& product, const Target& target) {
  const bool small = is_small(product) || is_empty(product);
  if (onednn_wanted() && !small && !is_shared_gradient(product, target))
    return std::make_unique<LibraryProduct>(product, target.threads);
  const double all = static_cast<double>(product.batch) * multiply_adds(product);
  return std::make_unique<OwnProduct>(product, all > kSmallProduct ? target.threads : 1);
}

}  // namespace snug::ops

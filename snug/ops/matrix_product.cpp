#include "snug/ops/matrix_product.h"

#include <algorithm>

#include "snug/kernels/gemm.h"
#include "snug/kernels/onednn.h"
#include "snug/kernels/onednn_matmul.h"

namespace snug::ops {
namespace {

// Weights and products below these sizes are done before a call of the library would have begun.
constexpr int64_t kSmallWeights = 16 * 1024;
constexpr double kSmallProduct = 1e6;

bool has_small_weights(const MatrixProduct& p) { return p.n * p.k < kSmallWeights; }

double multiply_adds(const MatrixProduct& p) {
  return static_cast<double>(p.batch) * static_cast<double>(p.m) * static_cast<double>(p.n) *
         static_cast<double>(p.k);
}

// For rows times weights it must not depend on the rows: parts of any size give a row the same bits
// and share what is prepared.
bool is_small(const MatrixProduct& p) {
  return p.constant_b ? has_small_weights(p) : multiply_adds(p) < kSmallProduct;
}

class OwnProduct final : public Kernel {
 public:
  OwnProduct(const MatrixProduct& p, int threads)
      : product_(p), gemm_(dense_gemm(p.m, p.n, p.k, p.transpose_a, p.transpose_b), threads) {}

  size_t scratch_bytes() const override { return gemm_.scratch_bytes(); }
  bool accumulates() const override { return product_.accumulates; }
  size_t prepared_bytes() const override { return packs() ? gemm_.packed_bytes() : 0; }

  void prepare(const Run& run, void* prepared) const noexcept override {
    gemm_.pack(run.input(1), prepared);
  }

  void run(const Run& run) const noexcept override {
    for (int64_t i = 0; i < product_.batch; ++i) {
      gemm_.run({.a = run.input(0) + i * product_.m * product_.k,
                 .b = run.input(1) + i * product_.k * product_.n,
                 .packed_b = packs() ? run.prepared : nullptr,
                 .c = run.output() + i * product_.m * product_.n,
                 .bias = product_.bias ? run.input(2) : nullptr,
                 .accumulate = run.accumulate},
                run.scratch);
    }
  }

 private:
  // Packing depends on the weights only, so parts of any number of rows share it. A small product
  // reads them as they are. Whether it is small must not depend on the rows.
  bool packs() const { return product_.constant_b && product_.n * product_.k >= 16 * 1024; }

  MatrixProduct product_;
  Gemm gemm_;
};

class LibraryProduct final : public Kernel {
 public:
  LibraryProduct(const MatrixProduct& p, int threads)
      : product_(p), matmul_(shape(p, false), threads) {
    if (p.accumulates) adding_ = std::make_unique<OnednnMatmul>(shape(p, true), threads);
  }

  size_t scratch_bytes() const override {
    return std::max(matmul_.scratch_bytes(), adding_ ? adding_->scratch_bytes() : 0);
  }
  bool accumulates() const override { return adding_ != nullptr; }

  void compile(int lanes) override {
    matmul_.compile(lanes);
    if (adding_) adding_->compile(lanes);
  }

  void run(const Run& run) const noexcept override {
    const OnednnMatmul& matmul = run.accumulate ? *adding_ : matmul_;
    const float* bias = product_.bias ? run.input(2) : nullptr;
    // The primitive was made for these sizes; what could fail has failed then.
    (void)matmul.run(run.lane, run.input(0), run.input(1), bias, run.output(), run.scratch);
  }

 private:
  static OnednnMatmulShape shape(const MatrixProduct& p, bool accumulate) {
    return {.batch = p.batch,
            .rows = p.m,
            .columns = p.n,
            .depth = p.k,
            .transpose_a = p.transpose_a,
            .transpose_b = p.transpose_b,
            .bias = p.bias,
            .accumulate = accumulate};
  }

  MatrixProduct product_;
  OnednnMatmul matmul_;
  std::unique_ptr<OnednnMatmul> adding_;
};

}  // namespace

std::unique_ptr<Kernel> matrix_product_kernel(const MatrixProduct& product, const Target& target) {
  if (onednn_wanted() && !is_small(product))
    return std::make_unique<LibraryProduct>(product, target.threads);
  return std::make_unique<OwnProduct>(product,
                                      multiply_adds(product) > kSmallProduct ? target.threads : 1);
}

}  // namespace snug::ops

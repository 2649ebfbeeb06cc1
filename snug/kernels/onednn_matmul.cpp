#include "snug/kernels/onednn_matmul.h"

#include "snug/base/error.h"

namespace snug {
namespace {

// Without a batch the format has two axes: oneDNN's kernels for those are the better ones.
OnednnFormat operand(int64_t batch, int64_t rows, int64_t columns, bool transposed) {
  const int64_t row_stride = transposed ? 1 : columns;
  const int64_t column_stride = transposed ? rows : 1;
  const int64_t sizes[] = {batch, rows, columns};
  const int64_t strides[] = {rows * columns, row_stride, column_stride};
  const int skip = batch == 1 ? 1 : 0;
  return OnednnFormat::strided(std::span(sizes).subspan(skip), std::span(strides).subspan(skip));
}

OnednnFormat bias_operand(int64_t batch, int64_t columns) {
  const int64_t sizes[] = {1, 1, columns};
  const int64_t strides[] = {columns, columns, 1};
  const int skip = batch == 1 ? 1 : 0;
  return OnednnFormat::strided(std::span(sizes).subspan(skip), std::span(strides).subspan(skip));
}

OnednnPrimitive make_primitive(const OnednnMatmulShape& shape, int threads) {
  const auto& [batch, rows, columns, depth, transpose_a, transpose_b, bias, accumulate] = shape;
  SNUG_CHECK(batch > 0 && rows > 0 && columns > 0 && depth > 0, "{} products of {} x {} x {}",
             batch, rows, columns, depth);
  const OnednnThreads guard(threads);
  const OnednnFormat a = operand(batch, rows, depth, transpose_a);
  const OnednnFormat b = operand(batch, depth, columns, transpose_b);
  const OnednnFormat c = operand(batch, rows, columns, false);
  const OnednnFormat added = bias ? bias_operand(batch, columns) : OnednnFormat();
  std::vector<OnednnPrimitive::Argument> arguments = {
      {DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, c}};
  if (bias) arguments.push_back({DNNL_ARG_BIAS, added});
  return {describe_matmul(a, b, added, c, accumulate), std::move(arguments), threads};
}

}  // namespace

OnednnMatmul::OnednnMatmul(const OnednnMatmulShape& shape, int threads)
    : has_bias_(shape.bias), primitive_(make_primitive(shape, threads)) {}

bool OnednnMatmul::run(int lane, const float* a, const float* b, const float* bias, float* c,
                       void* scratch) const noexcept {
  if (has_bias_) return primitive_.run(lane, {a, b, c, bias}, scratch);
  return primitive_.run(lane, {a, b, c}, scratch);
}

}  // namespace snug

#include "snug/kernels/unary.h"

#include "snug/kernels/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "snug/kernels/unary.cpp"
#include "hwy/foreach_target.h"  // Compiles what follows once for each instruction set.
#include "snug/kernels/activation-inl.h"
#include "snug/kernels/stream-inl.h"

#ifndef SNUG_KERNELS_UNARY_ROW_
#define SNUG_KERNELS_UNARY_ROW_
namespace snug::kernels {

struct UnaryRow {
  UnaryFunction forward;
  UnaryGradientFunction gradient;
  bool reads_output;
  int parameters;
};

}  // namespace snug::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace snug::kernels::HWY_NAMESPACE {

template <class Function>
void run_forward(const float* x, float* y, int64_t n, const float* parameters) {
  const Function f(parameters);
  stream(
      n, [&](int64_t i) HWY_ATTR { store(f.forward(load(x + i)), y + i); },
      [&](int64_t i, int64_t count)
          HWY_ATTR { store_part(f.forward(load_part(x + i, count)), y + i, count); },
      x, y);
}

template <class Function>
void run_gradient(const float* saved, const float* dy, float* dx, int64_t n,
                  const float* parameters) {
  const Function f(parameters);
  stream(
      n, [&](int64_t i) HWY_ATTR { store(f.gradient(load(saved + i), load(dy + i)), dx + i); },
      [&](int64_t i, int64_t count) HWY_ATTR {
        const V value = f.gradient(load_part(saved + i, count), load_part(dy + i, count));
        store_part(value, dx + i, count);
      },
      saved, dy, dx);
}

template <class Function>
constexpr UnaryRow row() {
  return {&run_forward<Function>, &run_gradient<Function>, Function::kReadsOutput,
          Function::kParameters};
}

// In the order of the enumeration.
const UnaryRow* unary_rows() {
  static constexpr UnaryRow kRows[kUnaryCount] = {
      row<Negate>(),      row<Abs>(),         row<Square>(),     row<Sqrt>(),
      row<Rsqrt>(),       row<Reciprocal>(),  row<Exp>(),        row<Expm1>(),
      row<Log>(),         row<Log1p>(),       row<Sign>(),       row<Floor>(),
      row<Sin>(),         row<Cos>(),         row<Erf>(),        row<Relu>(),
      row<GeneralRelu>(), row<LeakyRelu>(),   row<Relu6>(),      row<Elu>(),
      row<Selu>(),        row<Gelu>(),        row<GeluTanh>(),   row<Silu>(),
      row<Sigmoid>(),     row<HardSigmoid>(), row<HardSilu>(),   row<Tanh>(),
      row<Softplus>(),    row<Softsign>(),    row<Mish>(),       row<LogSigmoid>(),
      row<Celu>(),        row<HardTanh>(),    row<TanhShrink>(), row<SoftShrink>(),
      row<HardShrink>(),  row<Squareplus>(),  row<Threshold>(),  row<Clip>()};
  return kRows;
}

}  // namespace snug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace snug::kernels {
namespace {

HWY_EXPORT(unary_rows);

const UnaryRow& row_of(Unary function) {
  return HWY_DYNAMIC_DISPATCH(unary_rows)()[static_cast<int>(function)];
}

}  // namespace

UnaryFunction unary_function(Unary function) noexcept { return row_of(function).forward; }

UnaryGradientFunction unary_gradient_function(Unary function) noexcept {
  return row_of(function).gradient;
}

bool gradient_reads_output(Unary function) noexcept { return row_of(function).reads_output; }

int parameter_count(Unary function) noexcept { return row_of(function).parameters; }

}  // namespace snug::kernels
#endif

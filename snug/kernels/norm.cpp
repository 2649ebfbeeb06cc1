// Batch normalisation.

#include "snug/kernels/norm.h"

#include <type_traits>

#include "snug/kernels/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "snug/kernels/norm.cpp"
#include "hwy/foreach_target.h"  // Compiles what follows once for each instruction set.
#include "snug/kernels/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace snug::kernels::HWY_NAMESPACE {

// Sums of x - origin and of its square.
struct MomentBody {
  static constexpr int kSums = 2;
  const float *x, *origin;
  int64_t columns;

  struct Column {
    const float* x;
    int64_t stride;
    V origin;
    template <class R>
    HWY_INLINE void add(const R& reader, int64_t row, V (&sums)[2]) const {
      const V v = hn::Sub(reader(x + row * stride), origin);
      sums[0] = hn::Add(sums[0], v);
      sums[1] = hn::MulAdd(v, v, sums[1]);
    }
  };
  template <class R>
  HWY_INLINE Column column(const R& reader, int64_t c) const {
    return {x + c, columns, reader(origin + c)};
  }
};

// What follows the normalisation, and its gradient where v is the normalised value. NaN stays.
struct Nothing {
  static HWY_INLINE V of(V v) { return v; }
};
struct ThenRelu {
  static HWY_INLINE V of(V v) { return hn::IfThenZeroElse(hn::Lt(v, hn::Zero(d)), v); }
  static HWY_INLINE V gradient(V v, V dy) {
    return hn::IfThenElse(hn::Gt(v, hn::Zero(d)), dy, of(v));
  }
};
struct ThenRelu6 {
  static HWY_INLINE V of(V v) { return least(greatest(v, hn::Zero(d)), set(6.0f)); }
  static HWY_INLINE V gradient(V v, V dy) {
    const M inside = hn::And(hn::Gt(v, hn::Zero(d)), hn::Lt(v, set(6.0f)));
    return hn::IfThenElse(hn::IsNaN(v), v, hn::IfThenElseZero(inside, dy));
  }
};

// Sums of dy and dy * (x - mean) * rstd, from mean, rstd and, where something follows, scale and
// shift.
template <class Then>
struct GradientBody {
  static constexpr bool kFollowed = !std::is_same_v<Then, Nothing>;
  static constexpr int kSums = 2, kCoefficients = kFollowed ? 4 : 2;
  const float *x, *dy;
  const float* coefficients[kCoefficients];
  int64_t columns;

  struct Column {
    const float *x, *dy;
    int64_t stride;
    V c[kCoefficients];
    template <class R>
    HWY_INLINE void add(const R& reader, int64_t row, V (&sums)[2]) const {
      V g = reader(dy + row * stride);
      const V value = reader(x + row * stride);
      if constexpr (kFollowed) g = Then::gradient(hn::MulAdd(value, c[2], c[3]), g);
      const V normal = hn::Mul(hn::Sub(value, c[0]), c[1]);
      sums[0] = hn::Add(sums[0], g);
      sums[1] = hn::MulAdd(g, normal, sums[1]);
    }
  };
  template <class R>
  HWY_INLINE Column column(const R& reader, int64_t first) const {
    Column made{x + first, dy + first, columns, {}};
    for (int k = 0; k < kCoefficients; ++k) made.c[k] = reader(coefficients[k] + first);
    return made;
  }
};

// Adds the sums of joined rows to the arrays of single rows.
struct JoinedFlush {
  double* outputs[2];
  int64_t columns;
  HWY_INLINE void operator()(int k, int64_t column, V sum, int64_t count) const {
    HWY_ALIGN float lanes[kLanes];
    hn::Store(sum, d, lanes);
    int64_t c = column % columns;
    for (int64_t i = 0; i < count; ++i) {
      outputs[k][c] += lanes[i];
      if (++c == columns) c = 0;
    }
  }
};

void begin_sums(double* first, double* second, int64_t channels, Output output) {
  if (output == Output::add) return;
  std::fill_n(first, channels, 0.0);
  std::fill_n(second, channels, 0.0);
}

void moment_sums(const float* x, const float* origin, double* sums, double* squares, int64_t rows,
                 int64_t channels, Output output) {
  begin_sums(sums, squares, channels, output);
  const int64_t joined = rows_to_join(channels, rows);
  const int64_t wide_rows = joined > 1 ? rows / joined : 0, done = wide_rows * joined;
  if (wide_rows > 0) {
    const Repeated<1> repeated({origin}, channels, joined);
    sum_columns<kWideVectors>(MomentBody{x, repeated.values[0], joined * channels}, wide_rows,
                              joined * channels, JoinedFlush{{sums, squares}, channels});
  }
  sum_columns<kWideVectors>(MomentBody{x + done * channels, origin, channels}, rows - done,
                            channels, DoubleFlush<2>{{sums, squares}});
}

template <class Then>
void apply_then(const float* x, const float* scale, const float* shift, float* y, int64_t rows,
                int64_t channels, const float* addend) {
  if (addend == nullptr) {
    return for_rows(
        {scale, shift}, rows, channels,
        [=](int64_t at, const V(&c)[2], const auto& read, const auto& write)
            HWY_ATTR { write(Then::of(hn::MulAdd(read(x + at), c[0], c[1])), y + at); },
        x, y);
  }
  for_rows(
      {scale, shift}, rows, channels,
      [=](int64_t at, const V(&c)[2], const auto& read, const auto& write) HWY_ATTR {
        const V v = hn::Add(hn::MulAdd(read(x + at), c[0], c[1]), read(addend + at));
        write(Then::of(v), y + at);
      },
      x, addend, y);
}

void apply(const float* x, const float* scale, const float* shift, float* y, int64_t rows,
           int64_t channels, const BatchNormTail& tail) {
  switch (tail.after) {
    case After::nothing:
      return apply_then<Nothing>(x, scale, shift, y, rows, channels, tail.addend);
    case After::relu:
      return apply_then<ThenRelu>(x, scale, shift, y, rows, channels, tail.addend);
    case After::relu6:
      return apply_then<ThenRelu6>(x, scale, shift, y, rows, channels, tail.addend);
  }
}

template <class Body, size_t kCount>
void add_gradient_sums(const float* x, const float* dy, const float* const (&coefficients)[kCount],
                       double* const (&sums)[2], int64_t rows, int64_t channels) {
  const auto body = [&](int64_t row, const float* const(&c)[kCount], int64_t columns) HWY_ATTR {
    Body made{x + row * channels, dy + row * channels, {}, columns};
    std::copy_n(c, kCount, made.coefficients);
    return made;
  };
  const int64_t joined = rows_to_join(channels, rows);
  const int64_t wide_rows = joined > 1 ? rows / joined : 0, done = wide_rows * joined;
  if (wide_rows > 0) {
    const Repeated<kCount> repeated(coefficients, channels, joined);
    const float* wide[kCount];
    for (size_t k = 0; k < kCount; ++k) wide[k] = repeated.values[k];
    sum_columns<kWideVectors>(body(0, wide, joined * channels), wide_rows, joined * channels,
                              JoinedFlush{{sums[0], sums[1]}, channels});
  }
  sum_columns<kWideVectors>(body(done, coefficients, channels), rows - done, channels,
                            DoubleFlush<2>{{sums[0], sums[1]}});
}

void gradient_sums(const float* x, const float* dy, const float* mean, const float* rstd,
                   double* sum_dy, double* sum_dy_xhat, int64_t rows, int64_t channels,
                   Output output, const BatchNormSlope& slope) {
  begin_sums(sum_dy, sum_dy_xhat, channels, output);
  double* const sums[] = {sum_dy, sum_dy_xhat};
  if (slope.after == After::nothing) {
    return add_gradient_sums<GradientBody<Nothing>>(x, dy, {mean, rstd}, sums, rows, channels);
  }
  const float* const coefficients[] = {mean, rstd, slope.scale, slope.shift};
  if (slope.after == After::relu)
    return add_gradient_sums<GradientBody<ThenRelu>>(x, dy, coefficients, sums, rows, channels);
  add_gradient_sums<GradientBody<ThenRelu6>>(x, dy, coefficients, sums, rows, channels);
}

template <class Then>
void followed_gradient(const float* x, const float* dy, const float* const (&coefficients)[5],
                       float* dx, int64_t rows, int64_t channels) {
  for_rows(
      coefficients, rows, channels,
      [=](int64_t at, const V(&c)[5], const auto& read, const auto& write) HWY_ATTR {
        const V value = read(x + at);
        const V g = Then::gradient(hn::MulAdd(value, c[3], c[4]), read(dy + at));
        write(hn::MulAdd(c[0], g, hn::MulAdd(c[1], value, c[2])), dx + at);
      },
      x, dy, dx);
}

void gradient(const float* x, const float* dy, const float* a, const float* b, const float* c0,
              float* dx, int64_t rows, int64_t channels, const BatchNormSlope& slope) {
  const float* const coefficients[] = {a, b, c0, slope.scale, slope.shift};
  if (slope.after == After::relu)
    return followed_gradient<ThenRelu>(x, dy, coefficients, dx, rows, channels);
  if (slope.after == After::relu6)
    return followed_gradient<ThenRelu6>(x, dy, coefficients, dx, rows, channels);
  for_rows(
      {a, b, c0}, rows, channels,
      [=](int64_t at, const V(&c)[3], const auto& read, const auto& write) HWY_ATTR {
        write(hn::MulAdd(c[0], read(dy + at), hn::MulAdd(c[1], read(x + at), c[2])), dx + at);
      },
      x, dy, dx);
}

}  // namespace snug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace snug::kernels {

HWY_EXPORT(moment_sums);
HWY_EXPORT(apply);
HWY_EXPORT(gradient_sums);
HWY_EXPORT(gradient);

void batch_norm_sums(const float* x, const float* origin, double* sums, double* squares,
                     int64_t rows, int64_t channels, Output output) noexcept {
  HWY_DYNAMIC_DISPATCH(moment_sums)(x, origin, sums, squares, rows, channels, output);
}

void batch_norm_apply(const float* x, const float* scale, const float* shift, float* y,
                      int64_t rows, int64_t channels, const BatchNormTail& tail) noexcept {
  HWY_DYNAMIC_DISPATCH(apply)(x, scale, shift, y, rows, channels, tail);
}

void batch_norm_gradient_sums(const float* x, const float* dy, const float* mean, const float* rstd,
                              double* sum_dy, double* sum_dy_xhat, int64_t rows, int64_t channels,
                              Output output, const BatchNormSlope& slope) noexcept {
  HWY_DYNAMIC_DISPATCH(gradient_sums)
  (x, dy, mean, rstd, sum_dy, sum_dy_xhat, rows, channels, output, slope);
}

void batch_norm_gradient(const float* x, const float* dy, const float* a, const float* b,
                         const float* d, float* dx, int64_t rows, int64_t channels,
                         const BatchNormSlope& slope) noexcept {
  HWY_DYNAMIC_DISPATCH(gradient)(x, dy, a, b, d, dx, rows, channels, slope);
}

}  // namespace snug::kernels
#endif

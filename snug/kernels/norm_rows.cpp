// Layer and RMS normalisation: each row on its own.

#include <algorithm>
#include <cmath>

#include "snug/kernels/norm.h"
#include "snug/kernels/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "snug/kernels/norm_rows.cpp"
#include "hwy/foreach_target.h"  // Compiles what follows once for each instruction set.
#include "snug/kernels/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace snug::kernels::HWY_NAMESPACE {

// The sum of term(reader, i) over [i, n) of a row; lanes behind the end are left out. Calls for the
// elements of the arrays that are `later` behind.
template <class Term, class... Arrays>
HWY_INLINE float stretch_sum(int64_t i, int64_t n, const Term& term, [[maybe_unused]] int64_t later,
                             const Arrays*... arrays) {
  V a = hn::Zero(d), b = a;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
    (call_for(arrays + i + later), ...);
    (call_for(arrays + i + later + kLanes), ...);
    a = hn::Add(a, term(Reader<false>{kLanes}, i));
    b = hn::Add(b, term(Reader<false>{kLanes}, i + kLanes));
  }
  for (; i + kLanes <= n; i += kLanes) a = hn::Add(a, term(Reader<false>{kLanes}, i));
  if (i < n) {
    const M inside = hn::FirstN(d, static_cast<size_t>(n - i));
    b = hn::Add(b, hn::IfThenElseZero(inside, term(Reader<true>{n - i}, i)));
  }
  return sum_of_lanes(hn::Add(a, b));
}

// Of a row of n: float32 within a stretch, double from stretch to stretch.
template <class Term, class... Arrays>
HWY_INLINE double row_sum(int64_t n, const Term& term, int64_t later = 0, const Arrays*... arrays) {
  constexpr int64_t kStretch = 4096;
  double sum = 0;
  for (int64_t i = 0; i < n; i += kStretch)
    sum += stretch_sum(i, std::min(n, i + kStretch), term, later, arrays...);
  return sum;
}

// Calls f(reader, writer, i) for every vector of a row.
template <class F>
HWY_INLINE void for_row(int64_t n, const F& f) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) f(Reader<false>{kLanes}, Writer<false>{kLanes}, i);
  if (i < n) f(Reader<true>{n - i}, Writer<true>{n - i}, i);
}

template <class R>
HWY_INLINE V scaled(const R& read, V v, const float* gamma, int64_t i) {
  return gamma ? hn::Mul(v, read(gamma + i)) : v;
}

template <bool kCentered>
HWY_INLINE float row_rstd(const LayerNorm& norm, const float* x, float mean, int64_t later,
                          const float* y) {
  const V m = set(mean);
  const auto square = [=](const auto& read, int64_t i) HWY_ATTR {
    const V v = kCentered ? hn::Sub(read(x + i), m) : read(x + i);
    return hn::Mul(v, v);
  };
  // With a mean, its pass has called for what follows.
  const double squares =
      kCentered ? row_sum(norm.columns, square) : row_sum(norm.columns, square, later, x, y);
  const auto variance = static_cast<float>(squares / static_cast<double>(norm.columns));
  return 1.0f / std::sqrt(variance + norm.epsilon);
}

template <bool kCentered>
HWY_INLINE void normalise_row(const LayerNorm& norm, const float* x, float* y, float mean,
                              float rstd) {
  const V m = set(mean), r = set(rstd);
  const float* gamma = norm.gamma;
  const float* beta = kCentered ? norm.beta : nullptr;
  for_row(norm.columns, [=](const auto& read, const auto& write, int64_t i) HWY_ATTR {
    const V centred = kCentered ? hn::Sub(read(x + i), m) : read(x + i);
    const V v = scaled(read, hn::Mul(centred, r), gamma, i);
    write(beta ? hn::Add(v, read(beta + i)) : v, y + i);
  });
}

// The passes over two rows take turns, so that none waits for the sums of another; they stay in
// the first cache. `mean` is not written unless kCentered.
template <bool kCentered>
HWY_INLINE void forward_rows(const LayerNorm& norm, const float* x, float* y, float* mean,
                             float* rstd) {
  constexpr int64_t kMostTurns = 2, kShortRow = 1024;
  const int64_t n = norm.columns, turns = n <= kShortRow ? kMostTurns : 1;
  for (int64_t first = 0; first < norm.rows; first += turns) {
    const int64_t count = std::min(turns, norm.rows - first);
    float means[kMostTurns] = {};
    for (int64_t g = 0; kCentered && g < count; ++g) {
      const float *row = x + (first + g) * n, *to = y + (first + g) * n;
      const double sum = row_sum(
          n, [=](const auto& read, int64_t i) HWY_ATTR { return read(row + i); },
          ahead(n, (norm.rows - first - g) * n), row, to);
      means[g] = mean[first + g] = static_cast<float>(sum / static_cast<double>(n));
    }
    for (int64_t g = 0; g < count; ++g) {
      const int64_t at = (first + g) * n, later = ahead(n, norm.rows * n - at);
      rstd[first + g] = row_rstd<kCentered>(norm, x + at, means[g], later, y + at);
    }
    for (int64_t g = 0; g < count; ++g) {
      const int64_t at = (first + g) * n;
      normalise_row<kCentered>(norm, x + at, y + at, means[g], rstd[first + g]);
    }
  }
}

// With g = dy * gamma: dx = rstd * (g - mean(g) - xhat * mean(g * xhat)), without mean(g) for RMS.
template <bool kCentered>
HWY_INLINE void gradient_row(const LayerNorm& norm, const float* x, const float* dy, float mean,
                             float rstd, float* dx, int64_t later) {
  const int64_t n = norm.columns;
  const float* gamma = norm.gamma;
  const auto count = static_cast<double>(n);
  const V m = set(mean), r = set(rstd);
  const double products = row_sum(
      n,
      [=](const auto& read, int64_t i) HWY_ATTR {
        const V g = scaled(read, read(dy + i), gamma, i);
        return hn::Mul(g, hn::Mul(hn::Sub(read(x + i), m), r));
      },
      later, x, dy, dx);
  double plain = 0;
  if constexpr (kCentered) {
    plain = row_sum(n, [=](const auto& read, int64_t i)
                           HWY_ATTR { return scaled(read, read(dy + i), gamma, i); });
  }
  const V mean_product = set(static_cast<float>(products / count));
  const V mean_g = set(static_cast<float>(plain / count));
  for_row(n, [=](const auto& read, const auto& write, int64_t i) HWY_ATTR {
    const V g = hn::Sub(scaled(read, read(dy + i), gamma, i), mean_g);
    const V normal = hn::Mul(hn::Sub(read(x + i), m), r);
    write(hn::Mul(r, hn::NegMulAdd(normal, mean_product, g)), dx + i);
  });
}

void layer_forward(const LayerNorm& norm, const float* x, float* y, float* mean, float* rstd) {
  forward_rows<true>(norm, x, y, mean, rstd);
}

void layer_backward(const LayerNorm& norm, const float* x, const float* dy, const float* mean,
                    const float* rstd, float* dx) {
  for (int64_t r = 0; r < norm.rows; ++r) {
    const int64_t at = r * norm.columns;
    gradient_row<true>(norm, x + at, dy + at, mean[r], rstd[r], dx + at,
                       ahead(norm.columns, norm.rows * norm.columns - at));
  }
}

void rms_forward(const LayerNorm& norm, const float* x, float* y, float* rstd) {
  forward_rows<false>(norm, x, y, nullptr, rstd);
}

void rms_backward(const LayerNorm& norm, const float* x, const float* dy, const float* rstd,
                  float* dx) {
  for (int64_t r = 0; r < norm.rows; ++r) {
    const int64_t at = r * norm.columns;
    gradient_row<false>(norm, x + at, dy + at, 0.0f, rstd[r], dx + at,
                        ahead(norm.columns, norm.rows * norm.columns - at));
  }
}

// Sums of dy * (x - mean[row]) * rstd[row] and of dy down the columns; the mean of RMS is 0.
template <bool kCentered>
struct RowParameterBody {
  static constexpr int kSums = 2;
  const float *x, *dy, *mean, *rstd;
  int64_t columns;

  struct Column {
    const float *x, *dy, *mean, *rstd;
    int64_t stride;
    template <class R>
    HWY_INLINE void add(const R& reader, int64_t row, V (&sums)[2]) const {
      const V g = reader(dy + row * stride);
      V v = reader(x + row * stride);
      if constexpr (kCentered) v = hn::Sub(v, set(mean[row]));
      sums[0] = hn::MulAdd(g, hn::Mul(v, set(rstd[row])), sums[0]);
      sums[1] = hn::Add(sums[1], g);
    }
  };
  template <class R>
  HWY_INLINE Column column(const R&, int64_t c) const {
    return {x + c, dy + c, mean, rstd, columns};
  }
};

void parameter_sums(const LayerNorm& norm, const float* x, const float* dy, const float* mean,
                    const float* rstd, float* dgamma, float* dbeta, Output output) {
  if (output == Output::write) {
    if (dgamma) std::fill_n(dgamma, norm.columns, 0.0f);
    if (dbeta) std::fill_n(dbeta, norm.columns, 0.0f);
  }
  const FloatFlush<2> flush{{dgamma, dbeta}};
  if (mean) {
    sum_columns<4>(RowParameterBody<true>{x, dy, mean, rstd, norm.columns}, norm.rows, norm.columns,
                   flush);
  } else {
    sum_columns<4>(RowParameterBody<false>{x, dy, mean, rstd, norm.columns}, norm.rows,
                   norm.columns, flush);
  }
}

}  // namespace snug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace snug::kernels {

HWY_EXPORT(layer_forward);
HWY_EXPORT(layer_backward);
HWY_EXPORT(rms_forward);
HWY_EXPORT(rms_backward);
HWY_EXPORT(parameter_sums);

void layer_norm(const LayerNorm& norm, const float* x, float* y, float* mean,
                float* rstd) noexcept {
  HWY_DYNAMIC_DISPATCH(layer_forward)(norm, x, y, mean, rstd);
}

void layer_norm_gradient(const LayerNorm& norm, const float* x, const float* dy, const float* mean,
                         const float* rstd, float* dx) noexcept {
  HWY_DYNAMIC_DISPATCH(layer_backward)(norm, x, dy, mean, rstd, dx);
}

void layer_norm_parameter_gradients(const LayerNorm& norm, const float* x, const float* dy,
                                    const float* mean, const float* rstd, float* dgamma,
                                    float* dbeta, Output output) noexcept {
  HWY_DYNAMIC_DISPATCH(parameter_sums)(norm, x, dy, mean, rstd, dgamma, dbeta, output);
}

void rms_norm(const LayerNorm& norm, const float* x, float* y, float* rstd) noexcept {
  HWY_DYNAMIC_DISPATCH(rms_forward)(norm, x, y, rstd);
}

void rms_norm_gradient(const LayerNorm& norm, const float* x, const float* dy, const float* rstd,
                       float* dx) noexcept {
  HWY_DYNAMIC_DISPATCH(rms_backward)(norm, x, dy, rstd, dx);
}

}  // namespace snug::kernels
#endif

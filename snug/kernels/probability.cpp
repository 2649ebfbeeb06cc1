#include "snug/kernels/probability.h"

#include "snug/kernels/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "snug/kernels/probability.cpp"
#include "hwy/foreach_target.h"  // Compiles what follows once for each instruction set.
#include "snug/kernels/math-inl.h"
#include "snug/kernels/rows-inl.h"
#include "snug/kernels/stream-inl.h"

HWY_BEFORE_NAMESPACE();
namespace snug::kernels::HWY_NAMESPACE {

constexpr float kLow = 1e-7f, kHigh = 1.0f - 1e-7f;

// NaN passes both.
HWY_INLINE V clipped(V p) { return least(greatest(p, set(kLow)), set(kHigh)); }
HWY_INLINE M clips(V p) { return hn::Or(hn::Lt(p, set(kLow)), hn::Gt(p, set(kHigh))); }

// The same for one element.
HWY_INLINE float clipped(float p) { return p < kLow ? kLow : p > kHigh ? kHigh : p; }
HWY_INLINE bool clips(float p) { return p < kLow || p > kHigh; }

// Calls f(reader, writer, i) for every vector of n elements; `arrays` are what it touches at i.
template <class F, class... Arrays>
HWY_INLINE void for_vectors(int64_t n, const F& f, const Arrays*... arrays) {
  stream(
      n, [&](int64_t i) HWY_ATTR { f(Reader<false>{kLanes}, Writer<false>{kLanes}, i); },
      [&](int64_t i, int64_t count) HWY_ATTR { f(Reader<true>{count}, Writer<true>{count}, i); },
      arrays...);
}

// The sum of term(reader, i) over n elements; lanes behind the end are left out. Calls for the
// elements of the arrays that are `later` behind.
template <class Term, class... Arrays>
HWY_INLINE float sum_of(int64_t n, const Term& term, [[maybe_unused]] int64_t later = 0,
                        const Arrays*... arrays) {
  V a = hn::Zero(d), b = a;
  int64_t i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
    (call_for(arrays + i + later), ...);
    (call_for(arrays + i + later + kLanes), ...);
    a = hn::Add(a, term(Reader<false>{kLanes}, i));
    b = hn::Add(b, term(Reader<false>{kLanes}, i + kLanes));
  }
  for (; i < n; i += kLanes) {
    const int64_t count = std::min(kLanes, n - i);
    const V v = count == kLanes ? term(Reader<false>{kLanes}, i) : term(Reader<true>{count}, i);
    a = hn::Add(a, hn::IfThenElseZero(hn::FirstN(d, static_cast<size_t>(count)), v));
  }
  return sum_of_lanes(hn::Add(a, b));
}

HWY_INLINE bool is_class(int32_t label, int64_t columns) { return label >= 0 && label < columns; }

// The sum of the others, clipped. Not the sum of all less its own: that has no digits left where
// its own is nearly 1.
template <class... Arrays>
HWY_INLINE float sum_of_others(const float* p, int32_t label, int64_t columns, int64_t later,
                               const Arrays*... arrays) {
  const VI own = hn::Set(di, label);
  return sum_of(
      columns,
      [=](const auto& read, int64_t i) HWY_ATTR {
        const VI place = hn::Add(hn::Iota(di, 0), hn::Set(di, static_cast<int32_t>(i)));
        const auto is_own = hn::Eq(place, own);
        return hn::IfThenZeroElse(hn::RebindMask(d, is_own), clipped(read(p + i)));
      },
      later, p, arrays...);
}

// The logarithms of kLanes rows are taken at once.
void sparse_losses(const float* p, const int32_t* labels, float* loss, int64_t rows, int64_t n) {
  for (int64_t begin = 0; begin < rows; begin += kLanes) {
    const int64_t count = std::min(kLanes, rows - begin);
    HWY_ALIGN float ratios[kLanes] = {};
    for (int64_t i = 0; i < count; ++i, p += n) {
      const int32_t label = labels[begin + i];
      const int64_t later = ahead(n, (rows - begin - i) * n);
      ratios[i] = is_class(label, n) ? sum_of_others(p, label, n, later) / clipped(p[label]) : kNaN;
    }
    store_part(log1p(hn::Load(d, ratios)), loss + begin, count);
  }
}

void sparse_gradients(const float* p, const int32_t* labels, const float* dloss, float* dp,
                      int64_t rows, int64_t n) {
  for (int64_t r = 0; r < rows; ++r, p += n, dp += n) {
    const int32_t label = labels[r];
    if (!is_class(label, n)) {
      std::fill_n(dp, n, kNaN);
      continue;
    }
    const int64_t later = ahead(n, (rows - r) * n);
    const float own = p[label], others = sum_of_others(p, label, n, later, dp);
    const float of_sum = dloss[r] / (others + clipped(own));
    const V each = set(of_sum);
    for_vectors(n, [=](const auto& read, const auto& write, int64_t i)
                       HWY_ATTR { write(hn::IfThenZeroElse(clips(read(p + i)), each), dp + i); });
    // 1 / sum - 1 / own.
    if (!clips(own)) dp[label] = -of_sum * (others / own);
  }
}

// What divides a row by its sum, and NaN where nothing does.
struct Divisor {
  V factor, poison;

  // Of a row with `left` elements from it to the end of the last one; calls for what follows.
  template <class... Arrays>
  HWY_INLINE Divisor(const float* p, int64_t n, int64_t left, const Arrays*... arrays) {
    const float sum = sum_of(
        n, [=](const auto& read, int64_t i) HWY_ATTR { return read(p + i); }, ahead(n, left), p,
        arrays...);
    const float inverse = 1.0f / sum;
    factor = set(inverse);
    poison = set(inverse * sum * 0.0f);
  }
};

void distribution_losses(const float* p, const float* targets, float* loss, int64_t rows,
                         int64_t n) {
  for (int64_t r = 0; r < rows; ++r, p += n, targets += n) {
    const Divisor by(p, n, (rows - r) * n, targets);
    const float sum = sum_of(n, [=](const auto& read, int64_t i) HWY_ATTR {
      const V q = clipped(hn::Mul(read(p + i), by.factor));
      return hn::Mul(read(targets + i), log_inner(q));
    });
    loss[r] = hn::GetLane(by.poison) - sum;
  }
}

// With q = p / S and g = -t / q where q is not clipped: dp = (g - sum(g * q)) / S.
void distribution_gradients(const float* p, const float* targets, const float* dloss, float* dp,
                            int64_t rows, int64_t n) {
  for (int64_t r = 0; r < rows; ++r, p += n, targets += n, dp += n) {
    const Divisor by(p, n, (rows - r) * n, targets, dp);
    const float passed = sum_of(n, [=](const auto& read, int64_t i) HWY_ATTR {
      return hn::IfThenZeroElse(clips(hn::Mul(read(p + i), by.factor)), read(targets + i));
    });
    const V dl = set(dloss[r]);
    const V all = hn::Add(hn::Mul(hn::Mul(dl, by.factor), set(passed)), by.poison);
    for_vectors(n, [=](const auto& read, const auto& write, int64_t i) HWY_ATTR {
      const V v = read(p + i);
      const V own = hn::Div(hn::Mul(dl, read(targets + i)), v);
      write(hn::Sub(all, hn::IfThenZeroElse(clips(hn::Mul(v, by.factor)), own)), dp + i);
    });
  }
}

void distribution_target_gradients(const float* p, const float* dloss, float* dtargets,
                                   int64_t rows, int64_t n) {
  for (int64_t r = 0; r < rows; ++r, p += n, dtargets += n) {
    const Divisor by(p, n, (rows - r) * n, dtargets);
    const V scale = hn::Sub(by.poison, set(dloss[r]));
    for_vectors(n, [=](const auto& read, const auto& write, int64_t i) HWY_ATTR {
      write(hn::Mul(scale, log_inner(clipped(hn::Mul(read(p + i), by.factor)))), dtargets + i);
    });
  }
}

HWY_INLINE V keep_nan(V p, V value) { return hn::IfThenElse(hn::IsNaN(p), p, value); }

void binary_losses(const float* p, const float* targets, float* loss, int64_t n) {
  for_vectors(
      n,
      [=](const auto& read, const auto& write, int64_t i) HWY_ATTR {
        const V v = read(p + i), q = clipped(v), t = read(targets + i), one = set(1.0f);
        const V no = hn::Mul(hn::Sub(one, t), log_inner(hn::Sub(one, q)));
        write(keep_nan(v, hn::NegMulSub(t, log_inner(q), no)), loss + i);
      },
      p, targets, loss);
}

// (1 - t) / (1 - p) - t / p.
void binary_gradients(const float* p, const float* targets, const float* dloss, float* dp,
                      int64_t n) {
  for_vectors(
      n,
      [=](const auto& read, const auto& write, int64_t i) HWY_ATTR {
        const V v = read(p + i);
        const V top = hn::Mul(hn::Sub(v, read(targets + i)), read(dloss + i));
        const V slope = hn::Div(top, hn::Mul(v, hn::Sub(set(1.0f), v)));
        write(hn::IfThenZeroElse(clips(v), slope), dp + i);
      },
      p, targets, dloss, dp);
}

void binary_target_gradients(const float* p, const float* dloss, float* dtargets, int64_t n) {
  for_vectors(
      n,
      [=](const auto& read, const auto& write, int64_t i) HWY_ATTR {
        const V v = read(p + i), q = clipped(v);
        const V slope = hn::Sub(log_inner(hn::Sub(set(1.0f), q)), log_inner(q));
        write(keep_nan(v, hn::Mul(read(dloss + i), slope)), dtargets + i);
      },
      p, dloss, dtargets);
}

}  // namespace snug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace snug::kernels {

HWY_EXPORT(sparse_losses);
HWY_EXPORT(sparse_gradients);
HWY_EXPORT(distribution_losses);
HWY_EXPORT(distribution_gradients);
HWY_EXPORT(distribution_target_gradients);
HWY_EXPORT(binary_losses);
HWY_EXPORT(binary_gradients);
HWY_EXPORT(binary_target_gradients);

void sparse_cross_entropy(const float* p, const int32_t* labels, float* loss, int64_t rows,
                          int64_t columns) noexcept {
  HWY_DYNAMIC_DISPATCH(sparse_losses)(p, labels, loss, rows, columns);
}

void sparse_cross_entropy_gradient(const float* p, const int32_t* labels, const float* dloss,
                                   float* dp, int64_t rows, int64_t columns) noexcept {
  HWY_DYNAMIC_DISPATCH(sparse_gradients)(p, labels, dloss, dp, rows, columns);
}

void dense_cross_entropy(const float* p, const float* targets, float* loss, int64_t rows,
                         int64_t columns) noexcept {
  HWY_DYNAMIC_DISPATCH(distribution_losses)(p, targets, loss, rows, columns);
}

void dense_cross_entropy_gradient(const float* p, const float* targets, const float* dloss,
                                  float* dp, int64_t rows, int64_t columns) noexcept {
  HWY_DYNAMIC_DISPATCH(distribution_gradients)(p, targets, dloss, dp, rows, columns);
}

void dense_cross_entropy_target_gradient(const float* p, const float* dloss, float* dtargets,
                                         int64_t rows, int64_t columns) noexcept {
  HWY_DYNAMIC_DISPATCH(distribution_target_gradients)(p, dloss, dtargets, rows, columns);
}

void binary_cross_entropy(const float* p, const float* targets, float* loss, int64_t n) noexcept {
  HWY_DYNAMIC_DISPATCH(binary_losses)(p, targets, loss, n);
}

void binary_cross_entropy_gradient(const float* p, const float* targets, const float* dloss,
                                   float* dp, int64_t n) noexcept {
  HWY_DYNAMIC_DISPATCH(binary_gradients)(p, targets, dloss, dp, n);
}

void binary_cross_entropy_target_gradient(const float* p, const float* dloss, float* dtargets,
                                          int64_t n) noexcept {
  HWY_DYNAMIC_DISPATCH(binary_target_gradients)(p, dloss, dtargets, n);
}

}  // namespace snug::kernels
#endif

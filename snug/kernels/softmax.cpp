#include "snug/kernels/softmax.h"

#include <algorithm>

#include "snug/kernels/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "snug/kernels/softmax.cpp"
#include "hwy/foreach_target.h"  // Compiles what follows once for each instruction set.
#include "snug/kernels/math-inl.h"
#include "snug/kernels/stream-inl.h"

HWY_BEFORE_NAMESPACE();
namespace snug::kernels::HWY_NAMESPACE {

// Part of a row, with lanes behind the end that change neither maximum nor sum.
HWY_INLINE V load_row_end(const float* x, int64_t count) {
  const M inside = hn::FirstN(d, static_cast<size_t>(count));
  return hn::IfThenElse(inside, load_part(x, count), set(-kInfinity));
}

// The passes over a few rows take turns, so that none waits for the sums of another; they stay in
// the first cache. Calls f(first row, rows).
template <class F>
HWY_INLINE void in_turns(int64_t rows, int64_t n, const F& f) {
  const int64_t turns = n <= 1024 ? 4 : 1;
  for (int64_t r = 0; r < rows; r += turns) f(r, std::min(turns, rows - r));
}
constexpr int64_t kMostTurns = 4;

// A NaN in the row may or may not show here: the sum of exponentials has it in any case. Calls for
// the elements of the arrays that are `later` behind those of the row.
template <class... Arrays>
HWY_INLINE float row_max(const float* x, int64_t n, int64_t later, const Arrays*... arrays) {
  V a = set(-kInfinity), b = a;
  int64_t i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
    call_for(x + i + later), call_for(x + i + later + kLanes);
    (call_for(arrays + i + later), ...);
    (call_for(arrays + i + later + kLanes), ...);
    a = hn::Max(a, load(x + i));
    b = hn::Max(b, load(x + i + kLanes));
  }
  for (; i + kLanes <= n; i += kLanes) a = hn::Max(a, load(x + i));
  if (i < n) b = hn::Max(b, load_row_end(x + i, n - i));
  return hn::GetLane(hn::MaxOfLanes(d, hn::Max(a, b)));
}

// The sum of exp(x - most); the exponentials go to y unless it is null.
template <bool kStore>
HWY_INLINE float row_exp_sum(const float* x, float most, float* y, int64_t n) {
  const V shift = set(most);
  V a = hn::Zero(d), b = a;
  int64_t i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
    const V e = exp_below(hn::Sub(load(x + i), shift));
    const V f = exp_below(hn::Sub(load(x + i + kLanes), shift));
    if constexpr (kStore) store(e, y + i), store(f, y + i + kLanes);
    a = hn::Add(a, e);
    b = hn::Add(b, f);
  }
  for (; i < n; i += kLanes) {
    const int64_t count = std::min(kLanes, n - i);
    const V v = count == kLanes ? load(x + i) : load_row_end(x + i, count);
    const V e = exp_below(hn::Sub(v, shift));
    if constexpr (kStore) {
      if (count == kLanes) {
        store(e, y + i);
      } else {
        store_part(e, y + i, count);
      }
    }
    // In a row of -infinity alone the lanes behind the end are NaN too.
    const M inside = hn::FirstN(d, static_cast<size_t>(count));
    a = hn::Add(a, hn::IfThenElseZero(inside, e));
  }
  return sum_of_lanes(hn::Add(a, b));
}

// y = f(y) along a row.
template <class F>
HWY_INLINE void map_row(const float* x, float* y, int64_t n, const F& f) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store(f(load(x + i)), y + i);
  if (i < n) store_part(f(load_part(x + i, n - i)), y + i, n - i);
}

// z = f(x, y) along a row.
template <class F>
HWY_INLINE void map_rows(const float* x, const float* y, float* z, int64_t n, const F& f) {
  stream(
      n, [&](int64_t i) HWY_ATTR { store(f(load(x + i), load(y + i)), z + i); },
      [&](int64_t i, int64_t count) HWY_ATTR {
        store_part(f(load_part(x + i, count), load_part(y + i, count)), z + i, count);
      },
      x, y, z);
}

// The sum of f(x, y) along a row; f(0, 0) is 0.
template <class F>
HWY_INLINE float sum_row(const float* x, const float* y, int64_t n, const F& f) {
  V a = hn::Zero(d);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) a = hn::Add(a, f(load(x + i), load(y + i)));
  if (i < n) a = hn::Add(a, f(load_part(x + i, n - i), load_part(y + i, n - i)));
  return sum_of_lanes(a);
}

// Rows of up to kVectors vectors stay in registers.
template <int kVectors>
void short_softmax(const float* x, float* y, int64_t rows, int64_t n) {
  const int64_t last = n - (kVectors - 1) * kLanes;
  const M inside = hn::FirstN(d, static_cast<size_t>(last));
  for (int64_t r = 0; r < rows; ++r, x += n, y += n) {
    const int64_t later = ahead(n, (rows - r) * n);
    call_for(x + later), call_for(y + later);
    V v[kVectors];
    for (int k = 0; k < kVectors - 1; ++k) v[k] = load(x + k * kLanes);
    v[kVectors - 1] = load_row_end(x + (kVectors - 1) * kLanes, last);
    V most = v[0];
    for (int k = 1; k < kVectors; ++k) most = hn::Max(most, v[k]);
    most = hn::MaxOfLanes(d, most);
    for (V& e : v) e = exp_below(hn::Sub(e, most));
    v[kVectors - 1] = hn::IfThenElseZero(inside, v[kVectors - 1]);
    V sum = v[0];
    for (int k = 1; k < kVectors; ++k) sum = hn::Add(sum, v[k]);
    const V scale = hn::Div(set(1.0f), hn::SumOfLanes(d, sum));
    for (int k = 0; k < kVectors - 1; ++k) store(hn::Mul(v[k], scale), y + k * kLanes);
    store_part(hn::Mul(v[kVectors - 1], scale), y + (kVectors - 1) * kLanes, last);
  }
}

void softmax_rows(const float* x, float* y, int64_t rows, int64_t n) {
  if (n == 0) return;
  if (n <= kLanes) return short_softmax<1>(x, y, rows, n);
  if (n <= 2 * kLanes) return short_softmax<2>(x, y, rows, n);
  if (n <= 4 * kLanes && n > 3 * kLanes) return short_softmax<4>(x, y, rows, n);
  in_turns(rows, n, [=](int64_t first, int64_t count) HWY_ATTR {
    float values[kMostTurns];
    const float* from = x + first * n;
    float* to = y + first * n;
    for (int64_t g = 0; g < count; ++g) {
      const int64_t later = ahead(n, (rows - first - g) * n);
      values[g] = row_max(from + g * n, n, later, to + g * n);
    }
    for (int64_t g = 0; g < count; ++g)
      values[g] = row_exp_sum<true>(from + g * n, values[g], to + g * n, n);
    for (int64_t g = 0; g < count; ++g) {
      const V scale = set(1.0f / values[g]);
      map_row(to + g * n, to + g * n, n, [=](V e) HWY_ATTR { return hn::Mul(e, scale); });
    }
  });
}

// What log-softmax takes away from each element: most and log(sum exp(x - most)).
struct LogSum {
  float most;
  float log_sum;
};

// Of the `count` rows from `first` on among `rows`; calls for what stands behind them, in x and in
// `other`.
HWY_INLINE void row_log_sums(const float* x, const float* other, int64_t rows, int64_t n,
                             int64_t first, int64_t count, LogSum* sums) {
  for (int64_t g = 0; g < count; ++g) {
    const int64_t at = (first + g) * n, later = ahead(n, rows * n - at);
    sums[g].most = row_max(x + at, n, later, other + at);
  }
  for (int64_t g = 0; g < count; ++g)
    sums[g].log_sum = row_exp_sum<false>(x + (first + g) * n, sums[g].most, nullptr, n);
  for (int64_t g = 0; g < count; ++g) sums[g].log_sum = hn::GetLane(log(set(sums[g].log_sum)));
}

// Times factors[row] where kScaled.
template <bool kScaled>
HWY_INLINE void log_softmax_all(const float* x, const float* factors, float* y, int64_t rows,
                                int64_t n) {
  in_turns(rows, n, [=](int64_t first, int64_t count) HWY_ATTR {
    LogSum sums[kMostTurns];
    row_log_sums(x, y, rows, n, first, count, sums);
    for (int64_t g = 0; g < count; ++g) {
      const V most = set(sums[g].most), log_sum = set(sums[g].log_sum);
      const V factor = set(kScaled ? factors[first + g] : 1.0f);
      map_row(x + (first + g) * n, y + (first + g) * n, n, [=](V v) HWY_ATTR {
        const V log_p = hn::Sub(hn::Sub(v, most), log_sum);
        return kScaled ? hn::Mul(factor, log_p) : log_p;
      });
    }
  });
}

void log_softmax_rows(const float* x, float* y, int64_t rows, int64_t n) {
  log_softmax_all<false>(x, nullptr, y, rows, n);
}

// The gradient of the targets: -log_softmax * row_scale.
void dense_target_gradients(const float* x, const float* row_scale, float* dt, int64_t rows,
                            int64_t n) {
  constexpr int64_t kRows = 64;
  for (int64_t r = 0; r < rows; r += kRows) {
    const int64_t count = std::min(kRows, rows - r);
    float factors[kRows];
    for (int64_t i = 0; i < count; ++i) factors[i] = -row_scale[r + i];
    log_softmax_all<true>(x + r * n, factors, dt + r * n, count, n);
  }
}

void softmax_gradient_rows(const float* y, const float* dy, float* dx, int64_t rows, int64_t n) {
  for (int64_t r = 0; r < rows; ++r, y += n, dy += n, dx += n) {
    const V dot = set(sum_row(y, dy, n, [](V a, V b) HWY_ATTR { return hn::Mul(a, b); }));
    map_rows(y, dy, dx, n, [=](V a, V b) HWY_ATTR { return hn::Mul(a, hn::Sub(b, dot)); });
  }
}

void log_softmax_gradient_rows(const float* y, const float* dy, float* dx, int64_t rows,
                               int64_t n) {
  for (int64_t r = 0; r < rows; ++r, y += n, dy += n, dx += n) {
    const V sum = set(sum_row(y, dy, n, [](V, V b) HWY_ATTR { return b; }));
    map_rows(y, dy, dx, n, [=](V a, V b) HWY_ATTR { return hn::NegMulAdd(exp(a), sum, b); });
  }
}

// The logarithms of kLanes rows are taken at once.
void label_losses(const float* x, const int32_t* labels, float* loss, int64_t rows, int64_t n) {
  for (int64_t begin = 0; begin < rows; begin += kLanes) {
    const int64_t count = std::min(kLanes, rows - begin);
    HWY_ALIGN float sums[kLanes] = {}, distances[kLanes] = {};
    in_turns(count, n, [&](int64_t first, int64_t turns) HWY_ATTR {
      float most[kMostTurns];
      for (int64_t g = 0; g < turns; ++g) {
        const int64_t at = (begin + first + g) * n;
        most[g] = row_max(x + at, n, ahead(n, rows * n - at));
      }
      for (int64_t g = 0; g < turns; ++g) {
        const int64_t i = first + g;
        const float* row = x + (begin + i) * n;
        const int32_t label = labels[begin + i];
        sums[i] = row_exp_sum<false>(row, most[g], nullptr, n);
        distances[i] = label >= 0 && label < n ? most[g] - row[label] : kNaN;
      }
    });
    store_part(hn::Add(hn::Load(d, distances), log(hn::Load(d, sums))), loss + begin, count);
  }
}

void label_gradients(const float* x, const int32_t* labels, const float* row_scale, float* dx,
                     int64_t rows, int64_t n) {
  in_turns(rows, n, [=](int64_t first, int64_t count) HWY_ATTR {
    float values[kMostTurns];
    for (int64_t g = 0; g < count; ++g) {
      const int64_t at = (first + g) * n, later = ahead(n, rows * n - at);
      values[g] = row_max(x + at, n, later, dx + at);
    }
    for (int64_t g = 0; g < count; ++g) {
      const int64_t at = (first + g) * n;
      values[g] = row_exp_sum<true>(x + at, values[g], dx + at, n);
    }
    for (int64_t g = 0; g < count; ++g) {
      float* to = dx + (first + g) * n;
      const float row = row_scale[first + g];
      const int32_t label = labels[first + g];
      const bool known = label >= 0 && label < n;
      const V scale = set(known ? row / values[g] : kNaN);
      map_row(to, to, n, [=](V e) HWY_ATTR { return hn::Mul(e, scale); });
      if (known) to[label] -= row;
    }
  });
}

void dense_losses(const float* x, const float* targets, float* loss, int64_t rows, int64_t n) {
  in_turns(rows, n, [=](int64_t first, int64_t count) HWY_ATTR {
    LogSum sums[kMostTurns];
    row_log_sums(x, targets, rows, n, first, count, sums);
    for (int64_t g = 0; g < count; ++g) {
      const int64_t at = (first + g) * n;
      const V most = set(sums[g].most), log_sum = set(sums[g].log_sum);
      loss[first + g] = sum_row(x + at, targets + at, n, [=](V v, V t) HWY_ATTR {
        return hn::Mul(t, hn::Sub(log_sum, hn::Sub(v, most)));
      });
    }
  });
}

// Two passes over the row beside the maximum, so that dx may stand where x or the targets do. As in
// TensorFlow, p - t: the gradient of targets that sum to 1.
void dense_gradients(const float* x, const float* targets, const float* row_scale, float* dx,
                     int64_t rows, int64_t n) {
  in_turns(rows, n, [=](int64_t first, int64_t count) HWY_ATTR {
    float most[kMostTurns], sums[kMostTurns];
    for (int64_t g = 0; g < count; ++g) {
      const int64_t at = (first + g) * n, later = ahead(n, rows * n - at);
      most[g] = row_max(x + at, n, later, targets + at, dx + at);
    }
    for (int64_t g = 0; g < count; ++g)
      sums[g] = row_exp_sum<false>(x + (first + g) * n, most[g], nullptr, n);
    for (int64_t g = 0; g < count; ++g) {
      const int64_t at = (first + g) * n;
      const V shift = set(most[g]), scale = set(row_scale[first + g]),
              inverse = set(1.0f / sums[g]);
      map_rows(x + at, targets + at, dx + at, n, [=](V v, V t) HWY_ATTR {
        const V p = hn::Mul(exp_below(hn::Sub(v, shift)), inverse);
        return hn::Mul(hn::Sub(p, t), scale);
      });
    }
  });
}

void sigmoid_losses(const float* x, const float* targets, float* loss, int64_t n) {
  map_rows(x, targets, loss, n, [](V v, V t) HWY_ATTR {
    // Not softplus(v) - v t: that rounds the small rest of large logits away.
    const V positive = hn::IfThenZeroElse(hn::Lt(v, hn::Zero(d)), v);
    return hn::Add(hn::NegMulAdd(v, t, positive), log1p_unit(exp_below(hn::Neg(hn::Abs(v)))));
  });
}

void sigmoid_gradients(const float* x, const float* targets, const float* dloss, float* dx,
                       int64_t n) {
  const auto slope = [](V v, V t, V dl) HWY_ATTR { return hn::Mul(hn::Sub(sigmoid(v), t), dl); };
  stream(
      n,
      [=](int64_t i)
          HWY_ATTR { store(slope(load(x + i), load(targets + i), load(dloss + i)), dx + i); },
      [=](int64_t i, int64_t count) HWY_ATTR {
        const V v = slope(load_part(x + i, count), load_part(targets + i, count),
                          load_part(dloss + i, count));
        store_part(v, dx + i, count);
      },
      x, targets, dloss, dx);
}

}  // namespace snug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace snug::kernels {

HWY_EXPORT(softmax_rows);
HWY_EXPORT(log_softmax_rows);
HWY_EXPORT(softmax_gradient_rows);
HWY_EXPORT(log_softmax_gradient_rows);
HWY_EXPORT(label_losses);
HWY_EXPORT(label_gradients);
HWY_EXPORT(dense_losses);
HWY_EXPORT(dense_gradients);
HWY_EXPORT(dense_target_gradients);
HWY_EXPORT(sigmoid_losses);
HWY_EXPORT(sigmoid_gradients);

void softmax(const float* x, float* y, int64_t rows, int64_t columns) noexcept {
  HWY_DYNAMIC_DISPATCH(softmax_rows)(x, y, rows, columns);
}

void log_softmax(const float* x, float* y, int64_t rows, int64_t columns) noexcept {
  HWY_DYNAMIC_DISPATCH(log_softmax_rows)(x, y, rows, columns);
}

void softmax_gradient(const float* y, const float* dy, float* dx, int64_t rows,
                      int64_t columns) noexcept {
  HWY_DYNAMIC_DISPATCH(softmax_gradient_rows)(y, dy, dx, rows, columns);
}

void log_softmax_gradient(const float* y, const float* dy, float* dx, int64_t rows,
                          int64_t columns) noexcept {
  HWY_DYNAMIC_DISPATCH(log_softmax_gradient_rows)(y, dy, dx, rows, columns);
}

void softmax_cross_entropy(const float* logits, const int32_t* labels, float* loss, int64_t rows,
                           int64_t columns) noexcept {
  HWY_DYNAMIC_DISPATCH(label_losses)(logits, labels, loss, rows, columns);
}

void softmax_cross_entropy_gradient(const float* logits, const int32_t* labels,
                                    const float* row_scale, float* dlogits, int64_t rows,
                                    int64_t columns) noexcept {
  HWY_DYNAMIC_DISPATCH(label_gradients)(logits, labels, row_scale, dlogits, rows, columns);
}

void dense_softmax_cross_entropy(const float* logits, const float* targets, float* loss,
                                 int64_t rows, int64_t columns) noexcept {
  HWY_DYNAMIC_DISPATCH(dense_losses)(logits, targets, loss, rows, columns);
}

void dense_softmax_cross_entropy_gradient(const float* logits, const float* targets,
                                          const float* row_scale, float* dlogits, int64_t rows,
                                          int64_t columns) noexcept {
  HWY_DYNAMIC_DISPATCH(dense_gradients)(logits, targets, row_scale, dlogits, rows, columns);
}

void dense_softmax_cross_entropy_target_gradient(const float* logits, const float* row_scale,
                                                 float* dtargets, int64_t rows,
                                                 int64_t columns) noexcept {
  HWY_DYNAMIC_DISPATCH(dense_target_gradients)(logits, row_scale, dtargets, rows, columns);
}

void sigmoid_cross_entropy(const float* logits, const float* targets, float* loss,
                           int64_t n) noexcept {
  HWY_DYNAMIC_DISPATCH(sigmoid_losses)(logits, targets, loss, n);
}

void sigmoid_cross_entropy_gradient(const float* logits, const float* targets, const float* dloss,
                                    float* dlogits, int64_t n) noexcept {
  HWY_DYNAMIC_DISPATCH(sigmoid_gradients)(logits, targets, dloss, dlogits, n);
}

}  // namespace snug::kernels
#endif

#include "snug/kernels/reduce.h"

#include "snug/kernels/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "snug/kernels/reduce.cpp"
#include "hwy/foreach_target.h"  // Compiles what follows once for each instruction set.
#include "snug/kernels/columns-inl.h"
#include "snug/kernels/stream-inl.h"

HWY_BEFORE_NAMESPACE();
namespace snug::kernels::HWY_NAMESPACE {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Each kind: the value to begin with, how an element enters, how two accumulators join.
struct Sum {
  static constexpr float kStart = 0;
  static HWY_INLINE V enter(V sum, V x) { return hn::Add(sum, x); }
  static HWY_INLINE V join(V a, V b) { return hn::Add(a, b); }
};
struct SumSquares : Sum {
  static HWY_INLINE V enter(V sum, V x) { return hn::MulAdd(x, x, sum); }
};
struct SumAbs : Sum {
  static HWY_INLINE V enter(V sum, V x) { return hn::Add(sum, hn::Abs(x)); }
};
struct Prod {
  static constexpr float kStart = 1;
  static HWY_INLINE V enter(V product, V x) { return hn::Mul(product, x); }
  static HWY_INLINE V join(V a, V b) { return hn::Mul(a, b); }
};
struct Max {
  static constexpr float kStart = -kInfinity;
  static HWY_INLINE V enter(V most, V x) { return nan_max(most, x); }
  static HWY_INLINE V join(V a, V b) { return nan_max(a, b); }
  static HWY_INLINE V most(V v, V bound) { return hn::Max(v, bound); }
  static HWY_INLINE float of_lanes(V v) { return hn::GetLane(hn::MaxOfLanes(d, v)); }
};
struct Min {
  static constexpr float kStart = kInfinity;
  static HWY_INLINE V enter(V least_so_far, V x) { return nan_min(least_so_far, x); }
  static HWY_INLINE V join(V a, V b) { return nan_min(a, b); }
  static HWY_INLINE V most(V v, V bound) { return hn::Min(v, bound); }
  static HWY_INLINE float of_lanes(V v) { return hn::GetLane(hn::MinOfLanes(d, v)); }
};

// The lanes of four accumulators joined to one vector, over whole vectors and a part.
template <class K>
HWY_INLINE V reduce_block(const float* x, int64_t n) {
  const V start = set(K::kStart);
  V a = start, b = start, c = start, e = start;
  int64_t i = 0;
  for (; i + 4 * kLanes <= n; i += 4 * kLanes) {
    a = K::enter(a, load(x + i));
    b = K::enter(b, load(x + i + kLanes));
    c = K::enter(c, load(x + i + 2 * kLanes));
    e = K::enter(e, load(x + i + 3 * kLanes));
  }
  for (; i + kLanes <= n; i += kLanes) a = K::enter(a, load(x + i));
  if (i < n) {
    const M inside = hn::FirstN(d, static_cast<size_t>(n - i));
    b = hn::IfThenElse(inside, K::enter(b, load_part(x + i, n - i)), b);
  }
  return K::join(K::join(a, b), K::join(c, e));
}

constexpr int64_t kBlock = 2048;

template <class K>
double summed(const float* x, int64_t n) {
  double total = 0;
  for (int64_t i = 0; i < n; i += kBlock) {
    total += sum_of_lanes(reduce_block<K>(x + i, std::min(kBlock, n - i)));
  }
  return total;
}

template <class K>
float folded(const float* x, int64_t n) {
  HWY_ALIGN float lanes[kLanes];
  hn::Store(reduce_block<K>(x, n), d, lanes);
  float result = lanes[0];
  for (int64_t i = 1; i < kLanes; ++i) {
    result = hn::GetLane(K::join(set(result), set(lanes[i])));
  }
  return result;
}

// What the instruction gives, which may lose NaN, and whether all numbers are finite: then nothing
// is lost. K::most(v, bound) keeps the bound where v is NaN.
template <class K>
HWY_INLINE bool extreme_of_finite(const float* x, int64_t n, float& result) {
  V a = set(K::kStart), b = a, zeros = hn::Zero(d), more_zeros = zeros;
  int64_t i = 0;
  for (; i + 2 * kLanes <= n; i += 2 * kLanes) {
    const V v = load(x + i), w = load(x + i + kLanes);
    a = K::most(v, a);
    b = K::most(w, b);
    // 0, but NaN of infinity and of NaN.
    zeros = hn::MulAdd(v, hn::Zero(d), zeros);
    more_zeros = hn::MulAdd(w, hn::Zero(d), more_zeros);
  }
  for (; i < n; i += kLanes) {
    const int64_t count = std::min(kLanes, n - i);
    const V v = count == kLanes ? load(x + i) : load_part(x + i, count);
    const M inside = hn::FirstN(d, static_cast<size_t>(count));
    a = hn::IfThenElse(inside, K::most(v, a), a);
    zeros = hn::MulAdd(v, hn::Zero(d), zeros);
  }
  result = K::of_lanes(K::most(a, b));
  const V all = hn::Add(zeros, more_zeros);
  return hn::AllTrue(d, hn::Eq(all, all));
}

template <class K>
float extreme(const float* x, int64_t n) {
  float result = 0;
  return extreme_of_finite<K>(x, n, result) ? result : folded<K>(x, n);
}

float reduce_all(Reduction reduction, const float* x, int64_t n) {
  switch (reduction) {
    case Reduction::sum:
      return static_cast<float>(summed<Sum>(x, n));
    case Reduction::mean:
      return static_cast<float>(summed<Sum>(x, n) / static_cast<double>(n));
    case Reduction::max:
      return extreme<Max>(x, n);
    case Reduction::min:
      return extreme<Min>(x, n);
    case Reduction::prod:
      return folded<Prod>(x, n);
    case Reduction::sum_squares:
      return static_cast<float>(summed<SumSquares>(x, n));
    case Reduction::sum_abs:
      return static_cast<float>(summed<SumAbs>(x, n));
  }
  return 0;
}

void rows_reduced(Reduction reduction, const float* x, float* y, int64_t rows, int64_t columns) {
  for (int64_t r = 0; r < rows; ++r) y[r] = reduce_all(reduction, x + r * columns, columns);
}

// y = y joined with the column reduction of `rows` rows; the rows of a block stay in registers.
template <class K>
void enter_rows(const float* x, float* y, int64_t rows, int64_t columns) {
  for (int64_t c = 0; c < columns; c += kLanes) {
    const int64_t count = std::min(kLanes, columns - c);
    V a = set(K::kStart);
    for (int64_t r = 0; r < rows; ++r) {
      const float* p = x + r * columns + c;
      a = K::enter(a, count == kLanes ? load(p) : load_part(p, count));
    }
    if (count == kLanes) {
      store(K::join(load(y + c), a), y + c);
    } else {
      store_part(K::join(load_part(y + c, count), a), y + c, count);
    }
  }
}

template <class K>
void columns_folded(const float* x, float* y, int64_t rows, int64_t columns) {
  std::fill_n(y, columns, K::kStart);
  for (int64_t r = 0; r < rows; r += kBlockRows) {
    enter_rows<K>(x + r * columns, y, std::min(kBlockRows, rows - r), columns);
  }
}

// With columns that do not fill vectors, several rows side by side do; their sums are folded last.
constexpr int64_t kLongestShortRow = 64;

void short_column_sums(const float* x, float* y, int64_t rows, int64_t columns) {
  HWY_ALIGN float wide[kLongestShortRow * kLanes] = {};
  int64_t fold = 1;
  while (fold * columns % kLanes != 0) ++fold;
  const int64_t wide_rows = rows / fold, width = fold * columns;
  sum_columns<4>(SumBody{x, width}, wide_rows, width, FloatFlush<1>{{wide}});
  for (int64_t f = 0; f < fold; ++f) {
    for (int64_t c = 0; c < columns; ++c) y[c] += wide[f * columns + c];
  }
  for (int64_t r = wide_rows * fold; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) y[c] += x[r * columns + c];
  }
}

void sums_of_columns(const float* x, float* y, int64_t rows, int64_t columns, Output output) {
  if (output == Output::write) std::fill_n(y, columns, 0.0f);
  if (columns == 1) {
    y[0] += static_cast<float>(summed<Sum>(x, rows));
  } else if (columns > 0 && columns < kLongestShortRow && columns % kLanes != 0) {
    short_column_sums(x, y, rows, columns);
  } else {
    sum_columns<8>(SumBody{x, columns}, rows, columns, FloatFlush<1>{{y}});
  }
}

void columns_reduced(Reduction reduction, const float* x, float* y, int64_t rows, int64_t columns) {
  switch (reduction) {
    case Reduction::sum:
      return sums_of_columns(x, y, rows, columns, Output::write);
    case Reduction::mean:
      sums_of_columns(x, y, rows, columns, Output::write);
      for (int64_t c = 0; c < columns; ++c) y[c] /= static_cast<float>(rows);
      return;
    case Reduction::max:
      return columns_folded<Max>(x, y, rows, columns);
    case Reduction::min:
      return columns_folded<Min>(x, y, rows, columns);
    case Reduction::prod:
      return columns_folded<Prod>(x, y, rows, columns);
    case Reduction::sum_squares:
      return columns_folded<SumSquares>(x, y, rows, columns);
    case Reduction::sum_abs:
      return columns_folded<SumAbs>(x, y, rows, columns);
  }
}

void middle_reduced(Reduction reduction, const float* x, float* y, int64_t outer, int64_t middle,
                    int64_t inner) {
  if (inner == 1) return rows_reduced(reduction, x, y, outer, middle);
  for (int64_t o = 0; o < outer; ++o) {
    columns_reduced(reduction, x + o * middle * inner, y + o * inner, middle, inner);
  }
}

float dot_product(const float* a, const float* b, int64_t n) {
  double total = 0;
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t end = std::min(n, begin + kBlock);
    V even = hn::Zero(d), odd = hn::Zero(d);
    int64_t i = begin;
    for (; i + 2 * kLanes <= end; i += 2 * kLanes) {
      even = hn::MulAdd(load(a + i), load(b + i), even);
      odd = hn::MulAdd(load(a + i + kLanes), load(b + i + kLanes), odd);
    }
    for (; i + kLanes <= end; i += kLanes) even = hn::MulAdd(load(a + i), load(b + i), even);
    if (i < end) odd = hn::MulAdd(load_part(a + i, end - i), load_part(b + i, end - i), odd);
    total += sum_of_lanes(hn::Add(even, odd));
  }
  return static_cast<float>(total);
}

// First the largest value by vectors, then the first place that has it (or the first NaN).
int32_t place_of_max(const float* x, int64_t n) {
  const float largest = extreme<Max>(x, n);
  const V wanted = set(largest);
  const bool is_nan = largest != largest;
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const V v = load(x + i);
    if (!hn::AllFalse(d, is_nan ? hn::IsNaN(v) : hn::Eq(v, wanted))) break;
  }
  while (i < n - 1 && !(is_nan ? x[i] != x[i] : x[i] == largest)) ++i;
  return static_cast<int32_t>(i);
}

int64_t equal_count(const float* x, float y, int64_t n) {
  const V wanted = set(y);
  int64_t count = 0, i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    call_for(x + i + ahead(kLanes, n - i));
    count += static_cast<int64_t>(hn::CountTrue(d, hn::Eq(load(x + i), wanted)));
  }
  for (; i < n; ++i) count += x[i] == y ? 1 : 0;
  return count;
}

void shares(const float* x, float y, float share, float* dx, int64_t n) {
  const V wanted = set(y), given = set(share), none = set(0.0f * share);
  const auto chosen = [=](V v) HWY_ATTR { return hn::IfThenElse(hn::Eq(v, wanted), given, none); };
  stream(
      n, [=](int64_t i) HWY_ATTR { store(chosen(load(x + i)), dx + i); },
      [=](int64_t i, int64_t count)
          HWY_ATTR { store_part(chosen(load_part(x + i, count)), dx + i, count); },
      x, dx);
}

Magnitude magnitude_of(const float* x, int64_t n) {
  VI bits = hn::Zero(di);
  double squares = 0;
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t end = std::min(n, begin + kBlock);
    // Four chains: a multiply-add takes four cycles to be ready for the next one.
    V first = hn::Zero(d), second = first, third = first, fourth = first;
    int64_t i = begin;
    for (; i + 4 * kLanes <= end; i += 4 * kLanes) {
      const V a = load(x + i), b = load(x + i + kLanes);
      const V c = load(x + i + 2 * kLanes), e = load(x + i + 3 * kLanes);
      const VI left = hn::Max(magnitude_bits(a), magnitude_bits(b));
      bits = hn::Max(bits, hn::Max(left, hn::Max(magnitude_bits(c), magnitude_bits(e))));
      first = hn::MulAdd(a, a, first);
      second = hn::MulAdd(b, b, second);
      third = hn::MulAdd(c, c, third);
      fourth = hn::MulAdd(e, e, fourth);
    }
    for (; i < end; i += kLanes) {
      const V a = i + kLanes <= end ? load(x + i) : load_part(x + i, end - i);
      bits = hn::Max(bits, magnitude_bits(a));
      first = hn::MulAdd(a, a, first);
    }
    squares += sum_of_lanes(hn::Add(hn::Add(first, second), hn::Add(third, fourth)));
  }
  const float largest = largest_magnitude(bits);
  return {largest, squares, largest < kInfinity};
}

}  // namespace snug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace snug::kernels {

HWY_EXPORT(reduce_all);
HWY_EXPORT(columns_reduced);
HWY_EXPORT(middle_reduced);
HWY_EXPORT(sums_of_columns);
HWY_EXPORT(dot_product);
HWY_EXPORT(place_of_max);
HWY_EXPORT(equal_count);
HWY_EXPORT(shares);
HWY_EXPORT(magnitude_of);

float reduce(Reduction reduction, const float* x, int64_t n) noexcept {
  return HWY_DYNAMIC_DISPATCH(reduce_all)(reduction, x, n);
}

void reduce_columns(Reduction reduction, const float* x, float* y, int64_t rows,
                    int64_t columns) noexcept {
  HWY_DYNAMIC_DISPATCH(columns_reduced)(reduction, x, y, rows, columns);
}

void reduce_middle(Reduction reduction, const float* x, float* y, int64_t outer, int64_t middle,
                   int64_t inner) noexcept {
  HWY_DYNAMIC_DISPATCH(middle_reduced)(reduction, x, y, outer, middle, inner);
}

void column_sums(const float* x, float* y, int64_t rows, int64_t columns, Output output) noexcept {
  HWY_DYNAMIC_DISPATCH(sums_of_columns)(x, y, rows, columns, output);
}

float dot(const float* a, const float* b, int64_t n) noexcept {
  return HWY_DYNAMIC_DISPATCH(dot_product)(a, b, n);
}

int32_t arg_max(const float* x, int64_t n) noexcept {
  return HWY_DYNAMIC_DISPATCH(place_of_max)(x, n);
}

void arg_max_rows(const float* x, int32_t* y, int64_t rows, int64_t columns) noexcept {
  for (int64_t r = 0; r < rows; ++r) y[r] = arg_max(x + r * columns, columns);
}

int64_t count_equal(const float* x, float y, int64_t n) noexcept {
  return HWY_DYNAMIC_DISPATCH(equal_count)(x, y, n);
}

void share_out(const float* x, float y, float share, float* dx, int64_t n) noexcept {
  HWY_DYNAMIC_DISPATCH(shares)(x, y, share, dx, n);
}

Magnitude magnitude(const float* x, int64_t n) noexcept {
  return HWY_DYNAMIC_DISPATCH(magnitude_of)(x, n);
}

}  // namespace snug::kernels
#endif

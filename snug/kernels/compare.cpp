#include "snug/kernels/compare.h"

#include "snug/kernels/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "snug/kernels/compare.cpp"
#include "hwy/foreach_target.h"  // Compiles what follows once for each instruction set.
#include "snug/kernels/broadcast-inl.h"

HWY_BEFORE_NAMESPACE();
namespace snug::kernels::HWY_NAMESPACE {

// Stores the truth of f(a, b); kSwap exchanges the operands.
template <class F, bool kSwap = false>
struct Truth {
  using Out = uint8_t;
  using Swapped = Truth<F, !kSwap>;
  static HWY_INLINE M value(V a, V b) { return kSwap ? F::of(b, a) : F::of(a, b); }
  static HWY_INLINE void vector(V a, V b, uint8_t* y) { store_truth(value(a, b), y); }
  static HWY_INLINE void part(V a, V b, uint8_t* y, int64_t count) {
    store_truth_part(value(a, b), y, count);
  }
};

struct Equal {
  static HWY_INLINE M of(V a, V b) { return hn::Eq(a, b); }
};
struct NotEqual {
  static HWY_INLINE M of(V a, V b) { return hn::Not(hn::Eq(a, b)); }
};
struct Less {
  static HWY_INLINE M of(V a, V b) { return hn::Lt(a, b); }
};
struct LessEqual {
  static HWY_INLINE M of(V a, V b) { return hn::Le(a, b); }
};
struct Greater {
  static HWY_INLINE M of(V a, V b) { return hn::Gt(a, b); }
};
struct GreaterEqual {
  static HWY_INLINE M of(V a, V b) { return hn::Ge(a, b); }
};

template <class F>
constexpr ComparisonKernels forms() {
  return broadcast_forms<ComparisonKernels, Truth<F>>();
}

// In the order of the enumeration.
const ComparisonKernels* comparison_rows() {
  static constexpr ComparisonKernels kRows[kComparisonCount] = {
      forms<Equal>(),     forms<NotEqual>(), forms<Less>(),
      forms<LessEqual>(), forms<Greater>(),  forms<GreaterEqual>()};
  return kRows;
}

// The loops on bytes are plain: the compiler turns them into vectors of this target.
void conjunction(const uint8_t* a, const uint8_t* b, uint8_t* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = (a[i] != 0) & (b[i] != 0);
}

void disjunction(const uint8_t* a, const uint8_t* b, uint8_t* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = (a[i] | b[i]) != 0;
}

void negation(const uint8_t* x, uint8_t* y, int64_t n) {
  for (int64_t i = 0; i < n; ++i) y[i] = x[i] == 0;
}

// How many of the bytes are not 0.
int64_t count(const uint8_t* x, int64_t n) {
  int64_t sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += x[i] != 0;
  return sum;
}

HWY_INLINE M finite(V x) { return hn::Lt(hn::Abs(x), set(std::numeric_limits<float>::infinity())); }

void finiteness(const float* x, uint8_t* y, int64_t n) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store_truth(finite(load(x + i)), y + i);
  if (i < n) store_truth_part(finite(load_part(x + i, n - i)), y + i, n - i);
}

HWY_INLINE V choose(const uint8_t* condition, V a, V b) {
  const VI bits = hn::PromoteTo(di, hn::LoadU(DBytes(), condition));
  return hn::IfThenElse(hn::RebindMask(d, hn::Eq(bits, hn::Zero(di))), b, a);
}

void choice(const uint8_t* condition, const float* a, const float* b, float* y, int64_t n) {
  stream(
      n, [=](int64_t i) HWY_ATTR { store(choose(condition + i, load(a + i), load(b + i)), y + i); },
      [=](int64_t i, int64_t rest) HWY_ATTR {
        uint8_t part[kLanes] = {};
        std::memcpy(part, condition + i, static_cast<size_t>(rest));
        store_part(choose(part, load_part(a + i, rest), load_part(b + i, rest)), y + i, rest);
      },
      condition, a, b, y);
}

}  // namespace snug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace snug::kernels {

HWY_EXPORT(comparison_rows);
HWY_EXPORT(conjunction);
HWY_EXPORT(disjunction);
HWY_EXPORT(negation);
HWY_EXPORT(count);
HWY_EXPORT(finiteness);
HWY_EXPORT(choice);

const ComparisonKernels& comparison_kernels(Comparison comparison) noexcept {
  return HWY_DYNAMIC_DISPATCH(comparison_rows)()[static_cast<int>(comparison)];
}

void logical_and(const uint8_t* a, const uint8_t* b, uint8_t* y, int64_t n) noexcept {
  HWY_DYNAMIC_DISPATCH(conjunction)(a, b, y, n);
}

void logical_or(const uint8_t* a, const uint8_t* b, uint8_t* y, int64_t n) noexcept {
  HWY_DYNAMIC_DISPATCH(disjunction)(a, b, y, n);
}

void logical_not(const uint8_t* x, uint8_t* y, int64_t n) noexcept {
  HWY_DYNAMIC_DISPATCH(negation)(x, y, n);
}

bool any(const uint8_t* x, int64_t n) noexcept { return HWY_DYNAMIC_DISPATCH(count)(x, n) > 0; }

bool all(const uint8_t* x, int64_t n) noexcept { return HWY_DYNAMIC_DISPATCH(count)(x, n) == n; }

void is_finite(const float* x, uint8_t* y, int64_t n) noexcept {
  HWY_DYNAMIC_DISPATCH(finiteness)(x, y, n);
}

void select(const uint8_t* condition, const float* a, const float* b, float* y,
            int64_t n) noexcept {
  HWY_DYNAMIC_DISPATCH(choice)(condition, a, b, y, n);
}

}  // namespace snug::kernels
#endif

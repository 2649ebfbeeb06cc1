#include "snug/kernels/binary.h"

#include "snug/kernels/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "snug/kernels/binary.cpp"
#include "hwy/foreach_target.h"  // Compiles what follows once for each instruction set.
#include "snug/kernels/broadcast-inl.h"
#include "snug/kernels/power-inl.h"

HWY_BEFORE_NAMESPACE();
namespace snug::kernels::HWY_NAMESPACE {

// Stores f(a, b); kSwap exchanges the operands.
template <class F, bool kSwap = false>
struct Stored {
  using Out = float;
  using Swapped = Stored<F, !kSwap>;
  static HWY_INLINE V value(V a, V b) { return kSwap ? F::of(b, a) : F::of(a, b); }
  static HWY_INLINE void vector(V a, V b, float* y) { store(value(a, b), y); }
  static HWY_INLINE void part(V a, V b, float* y, int64_t count) {
    store_part(value(a, b), y, count);
  }
};

struct Add {
  static HWY_INLINE V of(V a, V b) { return hn::Add(a, b); }
};
struct Subtract {
  static HWY_INLINE V of(V a, V b) { return hn::Sub(a, b); }
};
struct Multiply {
  static HWY_INLINE V of(V a, V b) { return hn::Mul(a, b); }
};
struct Divide {
  static HWY_INLINE V of(V a, V b) { return hn::Div(a, b); }
};
struct DivideNoNan {
  static HWY_INLINE V of(V a, V b) {
    const V zero = hn::IfThenElse(hn::IsNaN(a), a, hn::Zero(d));
    return hn::IfThenElse(hn::Eq(b, hn::Zero(d)), zero, hn::Div(a, b));
  }
};
struct Maximum {
  static HWY_INLINE V of(V a, V b) { return nan_max(a, b); }
};
struct Minimum {
  static HWY_INLINE V of(V a, V b) { return nan_min(a, b); }
};
struct SquaredDifference {
  static HWY_INLINE V of(V a, V b) { return hn::Mul(hn::Sub(a, b), hn::Sub(a, b)); }
};

struct Pow {
  static HWY_INLINE V of(V a, V b) { return power(a, b); }
};

template <class F>
constexpr BinaryKernels forms() {
  return broadcast_forms<BinaryKernels, Stored<F>>();
}

// In the order of the enumeration.
const BinaryKernels* binary_rows() {
  static constexpr BinaryKernels kRows[kBinaryCount] = {
      forms<Add>(),     forms<Subtract>(),          forms<Multiply>(),
      forms<Divide>(),  forms<DivideNoNan>(),       forms<Maximum>(),
      forms<Minimum>(), forms<SquaredDifference>(), forms<Pow>()};
  return kRows;
}

}  // namespace snug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace snug::kernels {

HWY_EXPORT(binary_rows);

const BinaryKernels& binary_kernels(Binary function) noexcept {
  return HWY_DYNAMIC_DISPATCH(binary_rows)()[static_cast<int>(function)];
}

}  // namespace snug::kernels
#endif

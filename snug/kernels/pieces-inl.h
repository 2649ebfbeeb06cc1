// Functions by polynomials for stretches of their arguments, where tables of 16 floats are looked
// up within a register: about half the steps of one formula for all arguments, and no division.
// SNUG_KERNELS_PIECES says whether this instruction set has them.
#if defined(SNUG_KERNELS_PIECES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SNUG_KERNELS_PIECES_INL_H_
#undef SNUG_KERNELS_PIECES_INL_H_
#else
#define SNUG_KERNELS_PIECES_INL_H_
#endif

#include "snug/kernels/piece_tables.h"
#include "snug/kernels/vector-inl.h"

#undef SNUG_KERNELS_PIECES
#define SNUG_KERNELS_PIECES (HWY_TARGET <= HWY_AVX3)

#if SNUG_KERNELS_PIECES
HWY_BEFORE_NAMESPACE();
namespace snug::kernels::HWY_NAMESPACE {

// The function at a, which is not beyond its pieces; NaN at NaN.
HWY_INLINE V in_pieces(V a, const Pieces& pieces) {
  static_assert(kLanes == 16);
  const V magic = set(12582912.0f);  // 1.5 * 2^23: adding it rounds to an integer in the low bits.
  const V t = hn::MulAdd(a, set(pieces.scale), magic);
  const V r = hn::MulSub(a, set(pieces.scale), hn::Sub(t, magic));
  const auto n = hn::IndicesFromVec(d, hn::And(hn::BitCast(di, t), hn::Set(di, 15)));
  V y = hn::TableLookupLanes(load(pieces.c[5]), n);
  for (int k = 4; k >= 0; --k) y = hn::MulAdd(y, r, hn::TableLookupLanes(load(pieces.c[k]), n));
  return y;
}

// Just before the end of the last piece, which may round to the next. Not where a is NaN.
HWY_INLINE M beyond(V a, const Pieces& pieces) { return hn::Gt(a, set(15.49f / pieces.scale)); }

}  // namespace snug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();
#endif

#endif  // the toggle of the include guard

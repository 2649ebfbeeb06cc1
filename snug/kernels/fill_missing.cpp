#include "snug/kernels/fill_missing.h"

#include <bit>

#include "snug/kernels/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "snug/kernels/fill_missing.cpp"
#include "hwy/foreach_target.h"  // Compiles what follows once for each instruction set.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace snug::kernels::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Whole vectors, the last of a row over its end: what they write there is written again by the
// next rows. So the last rows are done one number at a time.
void fill(const uint32_t* from, size_t rows, size_t stride, size_t columns, uint32_t mark,
          const float* missing, float* to) {
  const hn::CappedTag<uint32_t, kMissingPadding> du;
  const hn::RebindToFloat<decltype(du)> df;
  const size_t lanes = hn::Lanes(du);
  const size_t over = (columns + lanes - 1) / lanes * lanes - columns;
  const auto marks = hn::Set(du, mark);
  size_t row = 0;
  for (; row < rows && (rows - row - 1) * columns >= over; ++row) {
    const uint32_t* in = from + row * stride;
    float* out = to + row * columns;
    for (size_t i = 0; i < columns; i += lanes) {
      const auto bits = hn::LoadU(du, in + i);
      const auto is_missing = hn::RebindMask(df, hn::Eq(bits, marks));
      hn::StoreU(hn::IfThenElse(is_missing, hn::LoadU(df, missing + i), hn::BitCast(df, bits)), df,
                 out + i);
    }
  }
  for (; row < rows; ++row) {
    for (size_t i = 0; i < columns; ++i) {
      const uint32_t bits = from[row * stride + i];
      to[row * columns + i] = bits == mark ? missing[i] : std::bit_cast<float>(bits);
    }
  }
}

}  // namespace snug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace snug::kernels {

HWY_EXPORT(fill);

void fill_missing(const uint32_t* from, size_t rows, size_t stride, size_t columns, uint32_t mark,
                  const float* missing, float* to) noexcept {
  HWY_DYNAMIC_DISPATCH(fill)(from, rows, stride, columns, mark, missing, to);
}

}  // namespace snug::kernels
#endif

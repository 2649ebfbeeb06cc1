// Passes over rows with one coefficient (or more) for each column.
#if defined(SNUG_KERNELS_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SNUG_KERNELS_ROWS_INL_H_
#undef SNUG_KERNELS_ROWS_INL_H_
#else
#define SNUG_KERNELS_ROWS_INL_H_
#endif

#include <algorithm>

#include "snug/kernels/columns-inl.h"
#include "snug/kernels/stream-inl.h"

HWY_BEFORE_NAMESPACE();
namespace snug::kernels::HWY_NAMESPACE {

// Rows shorter than this are joined to wide rows of several whole vectors.
constexpr int64_t kLongestShortRow = 64;
constexpr int64_t kWideVectors = 4;

// How many rows of `columns` make a wide row; 1 when rows are long enough.
HWY_INLINE int64_t rows_to_join(int64_t columns, int64_t rows) {
  if (columns >= kLongestShortRow || columns == 0) return 1;
  int64_t joined = 1;
  while (joined * columns % (kWideVectors * kLanes) != 0) ++joined;
  return joined <= rows ? joined : 1;
}

// kCount rows of coefficients, each repeated `joined` times.
template <int kCount>
struct Repeated {
  HWY_ALIGN float values[kCount][kLongestShortRow * kWideVectors * kLanes];

  Repeated(const float* const (&rows)[kCount], int64_t columns, int64_t joined) {
    for (int k = 0; k < kCount; ++k) {
      for (int64_t j = 0; j < joined; ++j) std::copy_n(rows[k], columns, values[k] + j * columns);
    }
  }
};

template <bool kPart>
struct Writer {
  int64_t count;
  HWY_INLINE void operator()(V v, float* p) const {
    if constexpr (kPart) {
      store_part(v, p, count);
    } else {
      store(v, p);
    }
  }
};

template <int kCount>
HWY_INLINE void load_coefficients(const float* const (&rows)[kCount], int64_t column,
                                  V (&c)[kCount]) {
  for (int k = 0; k < kCount; ++k) c[k] = load(rows[k] + column);
}

// Calls f(offset, coefficients of these columns, reader, writer) for every vector of the rows.
// `arrays` are what it touches at the offset.
template <int kCount, class F, class... Arrays>
HWY_INLINE void run_rows(const float* const (&coefficients)[kCount], int64_t rows, int64_t columns,
                         int64_t offset, const F& f, const Arrays*... arrays) {
  V c[kCount];
  for (int64_t r = 0; r < rows; ++r, offset += columns) {
    const int64_t later = offset + ahead(columns, (rows - r) * columns);
    int64_t i = 0;
    for (; i + kLanes <= columns; i += kLanes) {
      (call_for(arrays + later + i), ...);
      load_coefficients(coefficients, i, c);
      f(offset + i, c, Reader<false>{kLanes}, Writer<false>{kLanes});
    }
    if (i >= columns) continue;
    const int64_t rest = columns - i;
    for (int k = 0; k < kCount; ++k) c[k] = load_part(coefficients[k] + i, rest);
    f(offset + i, c, Reader<true>{rest}, Writer<true>{rest});
  }
}

// The same, short rows joined.
template <int kCount, class F, class... Arrays>
HWY_INLINE void for_rows(const float* const (&coefficients)[kCount], int64_t rows, int64_t columns,
                         const F& f, const Arrays*... arrays) {
  const int64_t joined = rows_to_join(columns, rows);
  const int64_t wide_rows = joined > 1 ? rows / joined : 0;
  if (wide_rows > 0) {
    const Repeated<kCount> repeated(coefficients, columns, joined);
    const float* wide[kCount];
    for (int k = 0; k < kCount; ++k) wide[k] = repeated.values[k];
    run_rows(wide, wide_rows, joined * columns, 0, f, arrays...);
  }
  const int64_t done = wide_rows * joined;
  run_rows(coefficients, rows - done, columns, done * columns, f, arrays...);
}

}  // namespace snug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // the toggle of the include guard

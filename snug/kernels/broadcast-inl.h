// A function of two arrays in the seven forms of BinaryKernels. The function F has a type Out and
//   void vector(V a, V b, Out* y), void part(V a, V b, Out* y, int64_t count).
#if defined(SNUG_KERNELS_BROADCAST_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef SNUG_KERNELS_BROADCAST_INL_H_
#undef SNUG_KERNELS_BROADCAST_INL_H_
#else
#define SNUG_KERNELS_BROADCAST_INL_H_
#endif

#include <algorithm>

#include "snug/kernels/stream-inl.h"

HWY_BEFORE_NAMESPACE();
namespace snug::kernels::HWY_NAMESPACE {

template <class F>
void same(const float* a, const float* b, typename F::Out* y, int64_t n) {
  stream(
      n, [=](int64_t i) HWY_ATTR { F::vector(load(a + i), load(b + i), y + i); },
      [=](int64_t i, int64_t count)
          HWY_ATTR { F::part(load_part(a + i, count), load_part(b + i, count), y + i, count); },
      a, b, y);
}

template <class F>
void scalar_left(const float* a, const float* b, typename F::Out* y, int64_t n) {
  const V left = set(*a);
  stream(
      n, [=](int64_t i) HWY_ATTR { F::vector(left, load(b + i), y + i); },
      [=](int64_t i, int64_t count)
          HWY_ATTR { F::part(left, load_part(b + i, count), y + i, count); },
      b, y);
}

template <class F>
void scalar_right(const float* a, const float* b, typename F::Out* y, int64_t n) {
  const V right = set(*b);
  stream(
      n, [=](int64_t i) HWY_ATTR { F::vector(load(a + i), right, y + i); },
      [=](int64_t i, int64_t count)
          HWY_ATTR { F::part(load_part(a + i, count), right, y + i, count); },
      a, y);
}

// Short rows are taken several at a time against a repeated copy of the row, so that no vector is
// left half empty: with 10 columns and 8 lanes, 4 rows make 5 whole vectors.
constexpr int64_t kLongestShortRow = 64;

struct RepeatedRow {
  HWY_ALIGN float values[kLongestShortRow * kLanes];
  int64_t rows = 1;

  RepeatedRow(const float* row, int64_t columns) {
    while (rows * columns % kLanes != 0) ++rows;
    for (int64_t r = 0; r < rows; ++r) std::copy_n(row, columns, values + r * columns);
  }
};

template <class F>
void periodic_right(const float* a, const float* b, typename F::Out* y, int64_t rows,
                    int64_t columns) {
  if (columns < kLongestShortRow && columns % kLanes != 0 && columns > 0) {
    const RepeatedRow repeated(b, columns);
    const int64_t block = repeated.rows * columns;
    for (; rows >= repeated.rows; rows -= repeated.rows, a += block, y += block) {
      const int64_t later = ahead(block, rows * columns);
      for (int64_t i = 0; i < block; i += kLanes) {
        call_for(a + i + later);
        call_for(y + i + later);
        F::vector(load(a + i), hn::Load(d, repeated.values + i), y + i);
      }
    }
  }
  for (; rows > 0; --rows, a += columns, y += columns) same<F>(a, b, y, columns);
}

template <class F>
void periodic_left(const float* a, const float* b, typename F::Out* y, int64_t rows,
                   int64_t columns) {
  periodic_right<typename F::Swapped>(b, a, y, rows, columns);
}

template <class F>
void row_scalar_left(const float* a, const float* b, typename F::Out* y, int64_t rows,
                     int64_t columns) {
  if (columns == 1) return same<F>(a, b, y, rows);
  for (; rows > 0; --rows, ++a, b += columns, y += columns) scalar_left<F>(a, b, y, columns);
}

template <class F>
void row_scalar_right(const float* a, const float* b, typename F::Out* y, int64_t rows,
                      int64_t columns) {
  if (columns == 1) return same<F>(a, b, y, rows);
  for (; rows > 0; --rows, a += columns, ++b, y += columns) scalar_right<F>(a, b, y, columns);
}

// A row of the table of kernels.
template <class Kernels, class F>
constexpr Kernels broadcast_forms() {
  return {&same<F>,           &scalar_left<F>,     &scalar_right<F>,    &periodic_left<F>,
          &periodic_right<F>, &row_scalar_left<F>, &row_scalar_right<F>};
}

}  // namespace snug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // the toggle of the include guard

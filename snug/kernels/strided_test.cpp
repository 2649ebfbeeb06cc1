#include "snug/kernels/strided.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "snug/kernels/test_values.h"

namespace snug::kernels {
namespace {

// Calls f(from offset, to offset) for every index of a box, the slow way.
template <class F>
void for_box(const Box& box, const F& f) {
  int64_t size = 1;
  for (int k = 0; k < box.axes; ++k) size *= box.extents[k];
  for (int64_t flat = 0; flat < size; ++flat) {
    int64_t rest = flat, from = 0, to = 0;
    for (int k = box.axes - 1; k >= 0; --k) {
      const int64_t i = rest % box.extents[k];
      rest /= box.extents[k];
      from += i * box.from_strides[k];
      to += i * box.to_strides[k];
    }
    f(from, to);
  }
}

template <class T>
void check_transpose(const Box& box, int64_t n) {
  std::vector<T> x(static_cast<size_t>(n)), y(x.size()), expected(x.size());
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<T>(i * 7 + 3);
  copy_box(box, x.data(), y.data(), sizeof(T));
  for_box(box, [&](int64_t from, int64_t to) {
    expected[static_cast<size_t>(to)] = x[static_cast<size_t>(from)];
  });
  EXPECT_EQ(y, expected);
}

TEST(Strided, EveryOrderOfFourAxes) {
  for (const std::array<int64_t, 4>& extents :
       {std::array<int64_t, 4>{2, 3, 4, 5}, {1, 6, 33, 9}, {3, 1, 1, 70}, {2, 40, 1, 35}}) {
    std::array<int, 4> order = {0, 1, 2, 3};
    int64_t n = 1;
    for (const int64_t extent : extents) n *= extent;
    do {
      const Box box = transpose_box(4, extents.data(), order.data());
      for (int k = 0; k < 4; ++k) EXPECT_EQ(box.extents[k], extents[static_cast<size_t>(order[k])]);
      check_transpose<float>(box, n);
      check_transpose<uint8_t>(box, n);
      check_transpose<uint16_t>(box, n);
      check_transpose<uint64_t>(box, n);
    } while (std::next_permutation(order.begin(), order.end()));
  }
}

TEST(Strided, EightAxesReversed) {
  const int64_t extents[] = {2, 3, 1, 2, 2, 3, 2, 2};
  const int order[] = {7, 6, 5, 4, 3, 2, 1, 0};
  check_transpose<float>(transpose_box(8, extents, order), 288);
}

TEST(Strided, SlicePadRepeatReverse) {
  const Floats x = random_values(6 * 7);
  // Rows 1, 3 and columns 5, 4, 3, 2 (backwards), each repeated twice, into a padded target.
  const Box box{
      .axes = 3, .extents = {2, 4, 2}, .from_strides = {14, -1, 0}, .to_strides = {12, 2, 1}};
  Floats y(24, 9.0f);
  Floats expected = y;
  copy_box(box, x.data() + 7 + 5, y.data() + 1, 4);
  for_box(box, [&](int64_t from, int64_t to) {
    expected[static_cast<size_t>(to + 1)] = x[static_cast<size_t>(from + 12)];
  });
  EXPECT_EQ(y, expected);
}

TEST(Strided, ConcatAlongTheMiddle) {
  const Floats a = random_values(2 * 3 * 4), b = random_values(2 * 5 * 4, -2, 2, 2);
  Floats y(2 * 8 * 4);
  copy_box({.axes = 2, .extents = {2, 12}, .from_strides = {12, 1}, .to_strides = {32, 1}},
           a.data(), y.data(), 4);
  copy_box({.axes = 2, .extents = {2, 20}, .from_strides = {20, 1}, .to_strides = {32, 1}},
           b.data(), y.data() + 12, 4);
  for (size_t i = 0; i < y.size(); ++i) {
    const size_t row = i / 32, column = i % 32;
    EXPECT_EQ(y[i], column < 12 ? a[row * 12 + column] : b[row * 20 + column - 12]);
  }
}

TEST(Strided, ScalarsAndNothing) {
  const float x = 3;
  float y = 1;
  copy_box({.axes = 0}, &x, &y, 4);
  EXPECT_EQ(y, 3);
  copy_box({.axes = 2, .extents = {0, 4}, .from_strides = {4, 1}, .to_strides = {4, 1}}, nullptr,
           nullptr, 4);
  EXPECT_EQ(y, 3);
}

TEST(Strided, TransposeOfPlanes) {
  for (const int64_t rows : {1, 4, 7, 32, 65}) {
    for (const int64_t columns : {1, 3, 16, 33, 100}) {
      const Floats x = random_values(rows * columns);
      Floats y(x.size() + 1, 77.0f);
      transpose(x.data(), y.data(), rows, columns);
      for (int64_t r = 0; r < rows; ++r) {
        for (int64_t c = 0; c < columns; ++c) {
          ASSERT_EQ(y[static_cast<size_t>(c * rows + r)], x[static_cast<size_t>(r * columns + c)]);
        }
      }
      EXPECT_EQ(y.back(), 77.0f);
    }
  }
}

TEST(Strided, Fill) {
  Floats y(5, 1.0f);
  fill(2.5f, y.data(), 4);
  EXPECT_EQ(y, (Floats{2.5f, 2.5f, 2.5f, 2.5f, 1.0f}));
}

// Around the caches: the same result, whatever the lines.
TEST(CopyBox, PastTheCaches) {
  for (const int64_t columns : {int64_t{16}, int64_t{48}, int64_t{50}, int64_t{5000}}) {
    for (const int64_t repeat : {0, 1}) {
      for (const int64_t offset : {0, 3}) {
        const Floats x = random_values(7 * columns);
        const size_t size = static_cast<size_t>(7 * columns + offset + 1);
        Floats y(size, 77.0f), expected(size, 77.0f);
        Box box{.axes = 2,
                .extents = {7, columns},
                .from_strides = {columns, repeat},
                .to_strides = {columns, 1}};
        copy_box(box, x.data(), expected.data() + offset, sizeof(float));
        box.past_caches = true;
        copy_box(box, x.data(), y.data() + offset, sizeof(float));
        EXPECT_EQ(y, expected) << columns << " columns, repeat " << repeat << ", " << offset;
      }
    }
  }
}

}  // namespace
}  // namespace snug::kernels

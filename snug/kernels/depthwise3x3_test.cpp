#include "snug/kernels/depthwise3x3.h"

#include <algorithm>

#include "snug/kernels/convolution_testing.h"

namespace snug::kernels {
namespace {

using namespace convolution_testing;

Shape shape_of(int64_t batch, int64_t height, int64_t width, int64_t channels, int64_t padding) {
  Shape s{.batch = batch, .height = height, .width = width, .channels = channels};
  s.filters = s.groups = channels;
  s.kernel_height = s.kernel_width = 3;
  s.top = s.left = s.bottom = s.right = padding;
  return s;
}

// As Keras pads for SAME: as many results as every second pixel, the odd zero behind.
Shape same_of_stride2(int64_t batch, int64_t height, int64_t width, int64_t channels) {
  Shape s = shape_of(batch, height, width, channels, 0);
  s.stride_height = s.stride_width = 2;
  s.top = height % 2, s.left = width % 2;
  s.bottom = s.right = 1;
  return s;
}

Shape valid_of_stride2(int64_t batch, int64_t height, int64_t width, int64_t channels) {
  Shape s = same_of_stride2(batch, height, width, channels);
  s.top = s.left = s.bottom = s.right = 0;
  return s;
}

struct Sums {
  Doubles y, dx, dw, y_terms, dx_terms, dw_terms;
};

Sums expected(const Shape& s, const Problem& p) {
  Sums e{Doubles(y_size(s)), Doubles(x_size(s)), Doubles(w_size(s)),
         Doubles(y_size(s)), Doubles(x_size(s)), Doubles(w_size(s))};
  for (size_t i = 0; i < e.y.size(); ++i) e.y[i] = p.bias[i % s.filters];
  each_term(s, [&](int64_t xi, int64_t wi, int64_t yi) {
    const double x_w = double{p.x[xi]} * p.w[wi], x_y = double{p.x[xi]} * p.y[yi];
    const double w_y = double{p.w[wi]} * p.y[yi];
    e.y[yi] += x_w, e.dx[xi] += w_y, e.dw[wi] += x_y;
    e.y_terms[yi] += std::abs(x_w), e.dx_terms[xi] += std::abs(w_y),
        e.dw_terms[wi] += std::abs(x_y);
  });
  return e;
}

template <typename Run>
void in_two(int64_t size, const Run& run) {
  run({0, size / 2});
  run({size / 2, size});
}

void check(const Shape& s) {
  ASSERT_TRUE(depthwise3x3_serves(s));
  const Problem p(s);
  Sums e = expected(s, p);
  Floats y(y_size(s), NAN), dx(x_size(s), NAN), dw(w_size(s), NAN), added = p.w;
  in_two(depthwise3x3_rows(s), [&](DepthwiseStretch rows) {
    depthwise3x3(s, rows, p.x.data(), p.w.data(), p.bias.data(), y.data());
  });
  expect_near(y, e.y, e.y_terms, "y");
  in_two(depthwise3x3_vectors(s), [&](DepthwiseStretch vectors) {
    depthwise3x3_weights_gradient(s, vectors, p.x.data(), p.y.data(), dw.data(), false);
  });
  expect_near(dw, e.dw, e.dw_terms, "dw");
  in_two(depthwise3x3_vectors(s), [&](DepthwiseStretch vectors) {
    depthwise3x3_weights_gradient(s, vectors, p.x.data(), p.y.data(), added.data(), true);
  });
  for (size_t i = 0; i < e.dw.size(); ++i) e.dw[i] += p.w[i];
  expect_near(added, e.dw, e.dw_terms, "dw added");
  if (!depthwise3x3_serves_input_gradient(s)) return;
  in_two(depthwise3x3_gradient_rows(s), [&](DepthwiseStretch rows) {
    depthwise3x3_input_gradient(s, rows, p.y.data(), p.w.data(), dx.data());
  });
  expect_near(dx, e.dx, e.dx_terms, "dx");
}

// Every width modulo three, which is how many pixels are taken at once.
TEST(Depthwise3x3, MatchesReference) {
  for (const int64_t size : {1, 2, 3, 4, 5, 6, 13}) {
    for (const int64_t channels : {16, 48}) {
      check(shape_of(2, size, 7, channels, 1));
      check(shape_of(2, 5, size, channels, 1));
      if (size >= 3) check(shape_of(1, size, 4, channels, 0));
    }
  }
  Shape uneven = shape_of(3, 6, 5, 32, 0);
  uneven.bottom = uneven.right = 1;
  check(uneven);
}

// Wide rows: the channels go block by block.
TEST(Depthwise3x3, OfSeveralBlocks) {
  check(shape_of(1, 4, 40, 48, 1));
  check(shape_of(1, 3, 110, 64, 1));
  check(same_of_stride2(1, 4, 110, 64));
}

// Odd and even sizes; even ones leave the last row and column of a VALID image unread. 208 channels
// of 48 pixels are more than one block.
TEST(Depthwise3x3, OfStrideTwo) {
  for (const int64_t size : {1, 2, 3, 4, 5, 6, 7, 8, 13}) {
    for (const int64_t channels : {16, 48}) {
      check(same_of_stride2(2, size, 7, channels));
      check(same_of_stride2(2, 6, size, channels));
      if (size >= 3) check(valid_of_stride2(2, size, 4, channels));
      if (size >= 3) check(valid_of_stride2(1, 5, size, channels));
    }
  }
  check(same_of_stride2(1, 4, 48, 208));
  Shape around = valid_of_stride2(3, 6, 8, 32);
  around.top = around.left = around.bottom = around.right = 1;
  check(around);
  Shape before = valid_of_stride2(3, 6, 8, 32);
  before.top = before.left = 1;
  check(before);
}

// Whole, in two and in rows one by one.
TEST(Depthwise3x3, TheCutDoesNotShow) {
  for (const Shape& s : {shape_of(2, 7, 8, 48, 1), same_of_stride2(2, 7, 8, 48)}) {
    const Problem p(s);
    Floats whole(x_size(s)), cut(x_size(s));
    const int64_t rows = depthwise3x3_gradient_rows(s);
    depthwise3x3_input_gradient(s, {0, rows}, p.y.data(), p.w.data(), whole.data());
    for (int64_t i = 0; i < rows; ++i)
      depthwise3x3_input_gradient(s, {i, i + 1}, p.y.data(), p.w.data(), cut.data());
    EXPECT_EQ(whole, cut);
  }
}

// A NaN shows in the nine results that read it, and in no other.
TEST(Depthwise3x3, NaNShows) {
  const Shape s = shape_of(1, 9, 9, 16, 1);
  Problem p(s);
  p.x[(4 * 9 + 4) * 16] = NAN;
  Floats y(y_size(s));
  depthwise3x3(s, {0, depthwise3x3_rows(s)}, p.x.data(), p.w.data(), nullptr, y.data());
  int found = 0;
  for (const float value : y) found += std::isnan(value);
  EXPECT_EQ(found, 9);
}

// With stride 2 one at an even pixel shows in four, one at an odd pixel in one; one of dy in nine.
TEST(Depthwise3x3, NaNShowsWithStrideTwo) {
  const Shape s = valid_of_stride2(1, 9, 9, 16);
  const auto found_of = [](const Floats& values) {
    return std::count_if(values.begin(), values.end(), [](float v) { return std::isnan(v); });
  };
  for (const int64_t at : {3, 4}) {
    Problem p(s);
    p.x[(at * 9 + at) * 16] = NAN;
    Floats y(y_size(s));
    depthwise3x3(s, {0, depthwise3x3_rows(s)}, p.x.data(), p.w.data(), nullptr, y.data());
    EXPECT_EQ(found_of(y), at == 3 ? 1 : 4);
  }
  Problem p(s);
  p.y[(1 * 4 + 2) * 16] = NAN;
  Floats dx(x_size(s));
  depthwise3x3_input_gradient(s, {0, depthwise3x3_gradient_rows(s)}, p.y.data(), p.w.data(),
                              dx.data());
  EXPECT_EQ(found_of(dx), 9);
}

TEST(Depthwise3x3, Serves) {
  const Shape same = shape_of(1, 8, 8, 32, 1);
  EXPECT_TRUE(depthwise3x3_serves_input_gradient(same));
  EXPECT_FALSE(depthwise3x3_serves_input_gradient(shape_of(1, 8, 8, 32, 0)));
  EXPECT_FALSE(depthwise3x3_serves(shape_of(1, 8, 8, 32, 2)));
  EXPECT_FALSE(depthwise3x3_serves(shape_of(1, 8, 8, 17, 1)));
  Shape other = same;
  other.stride_width = 2;
  EXPECT_FALSE(depthwise3x3_serves(other));
  other.stride_height = 2;
  EXPECT_TRUE(depthwise3x3_serves_input_gradient(other));
  other.stride_height = other.stride_width = 3;
  EXPECT_FALSE(depthwise3x3_serves(other));
  other = same;
  other.groups = 1;
  EXPECT_FALSE(depthwise3x3_serves(other));
  other = same;
  other.filters = 64;
  EXPECT_FALSE(depthwise3x3_serves(other));
}

}  // namespace
}  // namespace snug::kernels

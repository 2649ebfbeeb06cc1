#include "snug/kernels/depthwise3x3.h"

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

TEST(Depthwise3x3, Serves) {
  const Shape same = shape_of(1, 8, 8, 32, 1);
  EXPECT_TRUE(depthwise3x3_serves_input_gradient(same));
  EXPECT_FALSE(depthwise3x3_serves_input_gradient(shape_of(1, 8, 8, 32, 0)));
  EXPECT_FALSE(depthwise3x3_serves(shape_of(1, 8, 8, 32, 2)));
  EXPECT_FALSE(depthwise3x3_serves(shape_of(1, 8, 8, 17, 1)));
  Shape other = same;
  other.stride_width = 2;
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

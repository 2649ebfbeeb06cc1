#include "snug/kernels/im2col.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "snug/kernels/convolution_testing.h"

namespace snug {
namespace {

using namespace convolution_testing;

struct Results {
  Floats y, dx, dw, dw_added;
};

Results results(const Shape& s, const Problem& p, int threads) {
  Results r{Floats(y_size(s), NAN), Floats(x_size(s), NAN), Floats(w_size(s), NAN), p.w};
  const ConvolutionForward forward(s, threads);
  with_scratch(forward.scratch_bytes(), [&](void* scratch) {
    forward.run(p.x.data(), p.w.data(), p.bias.data(), r.y.data(), scratch);
  });
  const ConvolutionInputGradient input(s, threads);
  with_scratch(input.scratch_bytes(),
               [&](void* scratch) { input.run(p.y.data(), p.w.data(), r.dx.data(), scratch); });
  const ConvolutionWeightsGradient weights(s, threads);
  with_scratch(weights.scratch_bytes(), [&](void* scratch) {
    weights.run(p.x.data(), p.y.data(), r.dw.data(), /*accumulate=*/false, scratch);
  });
  with_scratch(weights.scratch_bytes(), [&](void* scratch) {
    weights.run(p.x.data(), p.y.data(), r.dw_added.data(), /*accumulate=*/true, scratch);
  });
  return r;
}

void check(const Shape& s, int threads) {
  SCOPED_TRACE(::testing::PrintToString(
      std::vector<int64_t>{s.batch, s.height, s.width, s.channels, s.filters, s.kernel_height,
                           s.kernel_width, s.stride_height, s.stride_width, s.dilation_height,
                           s.dilation_width, s.top, s.left, s.bottom, s.right, s.groups}));
  const Problem p(s);
  const Results r = results(s, p, threads);
  Doubles y(y_size(s)), dx(x_size(s)), dw(w_size(s)), dw_added(p.w.begin(), p.w.end());
  Doubles y_size(y), dx_size(dx), dw_size(dw);
  for (size_t i = 0; i < y.size(); ++i) y[i] = p.bias[i % s.filters];
  each_term(s, [&](int64_t xi, int64_t wi, int64_t yi) {
    const double x_w = double{p.x[xi]} * p.w[wi], y_w = double{p.y[yi]} * p.w[wi];
    const double x_y = double{p.x[xi]} * p.y[yi];
    y[yi] += x_w, dx[xi] += y_w, dw[wi] += x_y, dw_added[wi] += x_y;
    y_size[yi] += std::abs(x_w), dx_size[xi] += std::abs(y_w), dw_size[wi] += std::abs(x_y);
  });
  expect_near(r.y, y, y_size, "y");
  expect_near(r.dx, dx, dx_size, "dx");
  expect_near(r.dw, dw, dw_size, "dw");
  expect_near(r.dw_added, dw_added, dw_size, "dw added");
}

Shape random_shape(std::mt19937& engine) {
  const auto from = [&](int64_t least, int64_t most) {
    return least + static_cast<int64_t>(engine() % (most - least + 1));
  };
  Shape s{.batch = from(1, 3), .height = from(1, 14), .width = from(1, 14)};
  s.groups = engine() % 3 == 0 ? from(2, 3) : 1;
  s.channels = s.groups * from(1, 9), s.filters = s.groups * from(1, 20);
  if (engine() % 4 == 0) s.groups = s.channels = s.filters = from(2, 70);
  s.kernel_height = from(1, 4), s.kernel_width = from(1, 4);
  s.stride_height = from(1, 3), s.stride_width = from(1, 3);
  s.dilation_height = from(1, 2), s.dilation_width = from(1, 2);
  s.top = from(0, 3), s.left = from(0, 3), s.bottom = from(0, 3), s.right = from(0, 3);
  return s;
}

TEST(Im2col, MatchesReferenceOnRandomShapes) {
  std::mt19937 engine(3);
  for (int i = 0; i < 300;) {
    const Shape shape = random_shape(engine);
    if (!has_output(shape)) continue;
    check(shape, 1 + i++ % 3);
    if (HasFatalFailure()) return;
  }
}

TEST(Im2col, MatchesReferenceOnManyTiles) {
  check(same3x3(2, 28, 1, 32), 2);
  check(same3x3(2, 14, 40, 24), 2);
  check({.batch = 2, .height = 20, .width = 20, .channels = 30, .filters = 17}, 2);
  Shape strided = same3x3(3, 17, 16, 12);
  strided.stride_height = strided.stride_width = 2;
  check(strided, 2);
  strided.kernel_height = strided.kernel_width = 1;
  check(strided, 2);
}

std::vector<Shape> larger_shapes() {
  Shape grouped = same3x3(4, 24, 12, 8), depthwise = same3x3(4, 24, 37, 37);
  grouped.groups = 2, grouped.stride_width = 2;
  depthwise.groups = 37;
  return {same3x3(4, 24, 8, 16), same3x3(6, 24, 1, 8), grouped, depthwise};
}

TEST(Im2col, BitsDoNotDependOnThreadsOrBatch) {
  for (const Shape& shape : larger_shapes()) check_bits(shape, results);
}

TEST(Im2col, NanReachesWhatItTouches) {
  for (const Shape& shape : larger_shapes()) {
    check_nan(shape, [&](const Problem& problem) { return results(shape, problem, 1); });
  }
}

// A quarter of a megabyte of columns a thread, and the packed weights.
TEST(Im2col, ScratchIsBounded) {
  const Shape large = same3x3(32, 224, 64, 64);
  const size_t weights = w_size(large) * sizeof(float);
  EXPECT_LE(ConvolutionForward(large, 2).scratch_bytes(), weights + (size_t{640} << 10));
  EXPECT_LE(ConvolutionInputGradient(large, 2).scratch_bytes(), weights + (size_t{640} << 10));
  EXPECT_LE(ConvolutionWeightsGradient(large, 2).scratch_bytes(), size_t{1200} << 10);
}

}  // namespace
}  // namespace snug

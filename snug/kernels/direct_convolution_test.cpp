#include "snug/kernels/direct_convolution.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "snug/kernels/convolution_testing.h"

namespace snug {
namespace {

using namespace convolution_testing;

struct Results {
  Floats y, dw, dw_added;
};

Results results(const Shape& s, const Problem& p, int threads) {
  Results r{Floats(y_size(s), NAN), Floats(w_size(s), NAN), p.w};
  const DirectForward forward(s, threads);
  with_scratch(forward.packed_bytes(), [&](void* packed) {
    forward.pack(p.w.data(), packed);
    with_scratch(forward.scratch_bytes(), [&](void* scratch) {
      forward.run(p.x.data(), packed, p.bias.data(), r.y.data(), scratch);
    });
  });
  const DirectWeightsGradient weights(s, threads);
  with_scratch(weights.scratch_bytes(), [&](void* scratch) {
    weights.run(p.x.data(), p.y.data(), r.dw.data(), /*accumulate=*/false, scratch);
  });
  with_scratch(weights.scratch_bytes(), [&](void* scratch) {
    weights.run(p.x.data(), p.y.data(), r.dw_added.data(), /*accumulate=*/true, scratch);
  });
  return r;
}

void check(const Shape& s, int threads) {
  const Problem p(s);
  const Results r = results(s, p, threads);
  Doubles y(y_size(s)), dw(w_size(s)), dw_added(p.w.begin(), p.w.end());
  Doubles y_terms(y), dw_terms(dw);
  for (size_t i = 0; i < y.size(); ++i) y[i] = p.bias[i % s.filters];
  each_term(s, [&](int64_t xi, int64_t wi, int64_t yi) {
    const double x_w = double{p.x[xi]} * p.w[wi], x_y = double{p.x[xi]} * p.y[yi];
    y[yi] += x_w, dw[wi] += x_y, dw_added[wi] += x_y;
    y_terms[yi] += std::abs(x_w), dw_terms[wi] += std::abs(x_y);
  });
  expect_near(r.y, y, y_terms, "y");
  expect_near(r.dw, dw, dw_terms, "dw");
  expect_near(r.dw_added, dw_added, dw_terms, "dw added");
}

TEST(DirectConvolution, MatchesReferenceOnRandomShapes) {
  std::mt19937 engine(5);
  const auto from = [&](int64_t least, int64_t most) {
    return least + static_cast<int64_t>(engine() % (most - least + 1));
  };
  for (int i = 0; i < 300;) {
    Shape s{.batch = from(1, 3), .height = from(1, 14), .width = from(1, 14)};
    s.channels = from(1, 20), s.filters = from(1, 40);
    s.kernel_height = from(1, 4), s.kernel_width = from(1, 4);
    s.stride_height = from(1, 3), s.stride_width = from(1, 3);
    if (i % 3 > 0)
      s.top = from(0, 3), s.left = from(0, 3), s.bottom = from(0, 3), s.right = from(0, 3);
    if (!has_output(s)) continue;
    check(s, 1 + i++ % 3);
    if (HasFatalFailure()) return;
  }
}

TEST(DirectConvolution, MatchesReferenceOnManyBands) {
  check(same3x3(1, 64, 33, 24), 2);
  check({.height = 70,
         .width = 300,
         .channels = 3,
         .filters = 8,
         .kernel_height = 3,
         .kernel_width = 3},
        2);
}

TEST(DirectConvolution, ServesOneGroupAndADenseKernel) {
  Shape s = same3x3(1, 8, 4, 4);
  EXPECT_TRUE(DirectForward::serves(s));
  s.groups = 2;
  EXPECT_FALSE(DirectForward::serves(s));
  s.groups = 1, s.dilation_width = 2;
  EXPECT_FALSE(DirectForward::serves(s));
}

std::vector<Shape> larger_shapes() {
  Shape strided = same3x3(4, 25, 12, 40);
  strided.stride_height = strided.stride_width = 2;
  return {same3x3(4, 24, 8, 16), same3x3(6, 24, 1, 8), strided};
}

TEST(DirectConvolution, BitsDoNotDependOnThreadsOrBatch) {
  for (const Shape& shape : larger_shapes()) check_bits(shape, results);
}

TEST(DirectConvolution, NanReachesWhatItTouches) {
  for (const Shape& shape : larger_shapes()) {
    check_nan(shape, [&](const Problem& problem) { return results(shape, problem, 1); });
  }
}

// A band of the image and of dy's columns a thread.
TEST(DirectConvolution, ScratchIsBounded) {
  const Shape large = same3x3(32, 224, 64, 64);
  EXPECT_LE(DirectForward(large, 1).scratch_bytes(), size_t{400} << 10);
  EXPECT_LE(DirectWeightsGradient(large, 1).scratch_bytes(), size_t{300} << 10);
}

}  // namespace
}  // namespace snug

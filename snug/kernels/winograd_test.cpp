#include "snug/kernels/winograd.h"

#include <gtest/gtest.h>

#include <cmath>
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
  const WinogradForward forward(s, threads);
  with_scratch(forward.packed_bytes(), [&](void* packed) {
    forward.pack(p.w.data(), packed);
    with_scratch(forward.scratch_bytes(), [&](void* scratch) {
      forward.run(p.x.data(), packed, p.bias.data(), r.y.data(), scratch);
    });
  });
  const WinogradInputGradient input(s, threads);
  with_scratch(input.packed_bytes(), [&](void* packed) {
    input.pack(p.w.data(), packed);
    with_scratch(input.scratch_bytes(),
                 [&](void* scratch) { input.run(p.y.data(), packed, r.dx.data(), scratch); });
  });
  const WinogradWeightsGradient weights(s, threads);
  for (const bool accumulate : {false, true}) {
    with_scratch(weights.scratch_bytes(), [&](void* scratch) {
      weights.run(p.x.data(), p.y.data(), (accumulate ? r.dw_added : r.dw).data(), accumulate,
                  scratch);
    });
  }
  return r;
}

// The sums of all products, and of their magnitudes.
struct Reference {
  Reference(const Shape& s, const Problem& p)
      : y(y_size(s)), dx(x_size(s)), dw(w_size(s)), dw_added(p.w.begin(), p.w.end()) {
    Doubles y_terms(y), dx_terms(dx), dw_terms(dw);
    for (size_t i = 0; i < y.size(); ++i) y[i] = p.bias[i % s.filters];
    each_term(s, [&](int64_t xi, int64_t wi, int64_t yi) {
      const double x_w = double{p.x[xi]} * p.w[wi], x_y = double{p.x[xi]} * p.y[yi];
      const double y_w = double{p.y[yi]} * p.w[wi];
      y[yi] += x_w, dx[xi] += y_w, dw[wi] += x_y, dw_added[wi] += x_y;
      y_terms[yi] += std::abs(x_w), dx_terms[xi] += std::abs(y_w), dw_terms[wi] += std::abs(x_y);
    });
    magnitude_y = y_terms, magnitude_dx = dx_terms, magnitude_dw = dw_terms;
  }
  Doubles y, dx, dw, dw_added, magnitude_y, magnitude_dx, magnitude_dw;
};

void check(const Shape& s, int threads) {
  const Problem p(s);
  const Results r = results(s, p, threads);
  const Reference expected(s, p);
  expect_near(r.y, expected.y, expected.magnitude_y, "y");
  expect_near(r.dx, expected.dx, expected.magnitude_dx, "dx");
  expect_near(r.dw, expected.dw, expected.magnitude_dw, "dw");
  expect_near(r.dw_added, expected.dw_added, expected.magnitude_dw, "dw added");
}

TEST(Winograd, MatchesReferenceOnRandomShapes) {
  std::mt19937 engine(5);
  const auto from = [&](int64_t least, int64_t most) {
    return least + static_cast<int64_t>(engine() % (most - least + 1));
  };
  for (int i = 0; i < 60;) {
    Shape s = same3x3(from(1, 3), 1, 16 * from(1, 4), 16 * from(1, 4));
    s.height = from(1, 13), s.width = from(1, 13);
    s.top = from(0, 2), s.left = from(0, 2), s.bottom = from(0, 2), s.right = from(0, 2);
    if (!has_output(s)) continue;
    ASSERT_TRUE(winograd_serves(s));
    check(s, 1 + i++ % 5);
    if (HasFatalFailure()) return;
  }
}

TEST(Winograd, MatchesReferenceOnManyBlocks) {
  check(same3x3(2, 38, 16, 16), 2);
  check(same3x3(1, 27, 48, 80), 3);
  check(same3x3(1, 14, 160, 16), 1);
}

TEST(Winograd, ServesDenseThreeByThreeInSixteens) {
  EXPECT_TRUE(winograd_serves(same3x3(1, 8, 16, 48)));
  EXPECT_FALSE(winograd_serves(same3x3(1, 8, 8, 16)));
  EXPECT_FALSE(winograd_serves(same3x3(1, 8, 16, 20)));
  const auto with = [](int64_t Shape::*what, int64_t value) {
    Shape s = same3x3(1, 8, 16, 16);
    s.*what = value;
    return s;
  };
  EXPECT_FALSE(winograd_serves(with(&Shape::groups, 16)));
  EXPECT_FALSE(winograd_serves(with(&Shape::dilation_height, 2)));
  EXPECT_FALSE(winograd_serves(with(&Shape::stride_width, 2)));
  EXPECT_FALSE(winograd_serves(with(&Shape::kernel_width, 2)));
  EXPECT_FALSE(winograd_serves(with(&Shape::left, 3)));
  EXPECT_TRUE(winograd_serves(with(&Shape::left, 2)));
}

// Small whole numbers, their halves and quarters are exact, and so are their sums.
TEST(Winograd, WholeNumbersAreExact) {
  const Shape s = same3x3(2, 9, 32, 16);
  Problem p(s);
  for (Floats* values : {&p.x, &p.w, &p.y, &p.bias}) {
    for (float& value : *values) value = std::round(8 * value);
  }
  const Results r = results(s, p, 1);
  const Reference expected(s, p);
  EXPECT_EQ(Doubles(r.y.begin(), r.y.end()), expected.y);
  EXPECT_EQ(Doubles(r.dx.begin(), r.dx.end()), expected.dx);
  EXPECT_EQ(Doubles(r.dw.begin(), r.dw.end()), expected.dw);
}

double mean_error(const Floats& actual, const Doubles& expected) {
  double sum = 0;
  for (size_t i = 0; i < actual.size(); ++i) sum += std::abs(actual[i] - expected[i]);
  return sum / static_cast<double>(actual.size());
}

// A plain sum over taps and channels in float32 is the yardstick.
TEST(Winograd, IsAboutAsNearAsASumOverTaps) {
  const Shape s = same3x3(1, 16, 64, 32);
  const Problem p(s);
  const Results r = results(s, p, 1);
  const Reference expected(s, p);
  Floats y(y_size(s)), dx(x_size(s)), dw(w_size(s));
  for (size_t i = 0; i < y.size(); ++i) y[i] = p.bias[i % s.filters];
  each_term(s, [&](int64_t xi, int64_t wi, int64_t yi) {
    y[yi] += p.x[xi] * p.w[wi], dx[xi] += p.y[yi] * p.w[wi], dw[wi] += p.x[xi] * p.y[yi];
  });
  EXPECT_LE(mean_error(r.y, expected.y), 1.5 * mean_error(y, expected.y));
  EXPECT_LE(mean_error(r.dx, expected.dx), 1.5 * mean_error(dx, expected.dx));
  EXPECT_LE(mean_error(r.dw, expected.dw), 1.5 * mean_error(dw, expected.dw));
}

std::vector<Shape> larger_shapes() {
  Shape valid = same3x3(4, 25, 48, 16);
  valid.top = valid.left = valid.bottom = valid.right = 0;
  return {same3x3(4, 24, 16, 16), same3x3(6, 11, 32, 96), valid};
}

TEST(Winograd, BitsDoNotDependOnThreadsOrBatch) {
  for (const Shape& shape : larger_shapes()) check_bits(shape, results);
}

TEST(Winograd, NaNReachesWhatItTouches) {
  for (const Shape& shape : larger_shapes()) {
    check_nan(shape, [&](const Problem& problem) { return results(shape, problem, 1); });
  }
}

// Points of some tiles, and of the weights, a thread.
TEST(Winograd, ScratchIsBounded) {
  const Shape large = same3x3(32, 224, 64, 64);
  EXPECT_LE(WinogradForward(large, 1).scratch_bytes(), size_t{400} << 10);
  EXPECT_LE(WinogradWeightsGradient(large, 1).scratch_bytes(), size_t{800} << 10);
}

}  // namespace
}  // namespace snug

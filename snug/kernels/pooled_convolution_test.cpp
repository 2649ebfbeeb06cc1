#include "snug/kernels/pooled_convolution.h"

#include "snug/kernels/convolution_testing.h"
#include "snug/kernels/direct_convolution.h"

namespace snug {
namespace {

using namespace convolution_testing;
using kernels::Pool;
using Places = std::vector<uint8_t>;

Pool windows_over(const Shape& s, int64_t height, int64_t width, int64_t down, int64_t right) {
  return {.height = s.out_height(),
          .width = s.out_width(),
          .channels = s.filters,
          .kernel_height = height,
          .kernel_width = width,
          .stride_height = down,
          .stride_width = right,
          .out_height = (s.out_height() - height) / down + 1,
          .out_width = (s.out_width() - width) / right + 1};
}

size_t pooled_size(const PooledShape& s) {
  return static_cast<size_t>(s.convolution.batch * s.pool.out_height * s.pool.out_width *
                             s.pool.channels);
}

struct Results {
  Floats y, dw, dbias;
  Places places;
};

// The elements of the convolution's result that stand at these places of their windows.
Floats at_places(const PooledShape& s, const Floats& whole, const Places& places) {
  const Pool& pool = s.pool;
  Floats found(places.size());
  for (size_t i = 0; i < places.size(); ++i) {
    const auto at = static_cast<int64_t>(i);
    const int64_t filter = at % pool.channels, window = at / pool.channels;
    const int64_t column = window % pool.out_width * pool.stride_width + places[i] % 2;
    const int64_t row = window / pool.out_width % pool.out_height * pool.stride_height;
    const int64_t image = window / pool.out_width / pool.out_height;
    const int64_t pixel = (image * pool.height + row + places[i] / 2) * pool.width + column;
    found[i] = whole[static_cast<size_t>(pixel * pool.channels + filter)];
  }
  return found;
}

// In two passes, by kernels that have tests of their own. The gradient goes to these places, where
// there are some.
Results apart(const PooledShape& s, const Problem& p, const Floats& dy, const Places& winners) {
  const Shape& c = s.convolution;
  Results r{Floats(pooled_size(s)), Floats(w_size(c)), Floats(c.filters), Places(pooled_size(s))};
  Floats whole(y_size(c)), spread(y_size(c));
  const DirectForward forward(c, 1);
  with_scratch(forward.packed_bytes(), [&](void* packed) {
    forward.pack(p.w.data(), packed);
    with_scratch(forward.scratch_bytes(), [&](void* scratch) {
      forward.run(p.x.data(), packed, p.bias.data(), whole.data(), scratch);
    });
  });
  kernels::max_pool(s.pool, whole.data(), r.y.data(), r.places.data(), c.batch);
  if (!winners.empty()) r.places = winners;
  kernels::max_pool_gradient(s.pool, r.places.data(), dy.data(), spread.data(), c.batch);
  if (!winners.empty()) r.y = at_places(s, whole, winners);
  const DirectWeightsGradient weights(c, 1);
  with_scratch(weights.scratch_bytes(), [&](void* scratch) {
    weights.run(p.x.data(), spread.data(), r.dw.data(), false, scratch);
  });
  for (size_t i = 0; i < spread.size(); ++i) r.dbias[i % c.filters] += spread[i];
  return r;
}

Results joined(const PooledShape& s, const Problem& p, const Floats& dy, int threads) {
  const Shape& c = s.convolution;
  Results r{Floats(pooled_size(s), NAN), Floats(w_size(c), NAN), Floats(c.filters, NAN),
            Places(pooled_size(s), 77)};
  const PooledForward forward(s, threads);
  with_scratch(forward.packed_bytes(), [&](void* packed) {
    forward.pack(p.w.data(), packed);
    with_scratch(forward.scratch_bytes(), [&](void* scratch) {
      forward.run(p.x.data(), packed, p.bias.data(), r.y.data(), r.places.data(), scratch);
    });
  });
  const PooledWeightsGradient weights(s, threads);
  for (const bool add : {false, true}) {
    with_scratch(weights.scratch_bytes(), [&](void* scratch) {
      weights.run(p.x.data(), r.places.data(), dy.data(), r.dw.data(), r.dbias.data(), add,
                  scratch);
    });
  }
  return r;
}

void expect_twice(const Floats& actual, const Floats& once, double terms) {
  for (size_t i = 0; i < actual.size(); ++i)
    ASSERT_NEAR(actual[i], 2.0 * once[i], 2e-6 * (1 + terms)) << i;
}

void expect_near(const Floats& actual, const Floats& expected, double most) {
  for (size_t i = 0; i < actual.size(); ++i) ASSERT_NEAR(actual[i], expected[i], most) << i;
}

void check(const PooledShape& s) {
  ASSERT_TRUE(s.is_served());
  const Problem p(s.convolution);
  const Floats dy = random_floats(pooled_size(s), 9);
  const Results one = joined(s, p, dy, 1), two = joined(s, p, dy, 2);
  const Results largest = apart(s, p, dy, {});
  const Results expected = s.is_by_windows() ? apart(s, p, dy, one.places) : largest;
  if (s.is_by_windows()) {
    // Sums in another order: of two that are nearly alike, either may win.
    expect_near(one.y, largest.y, 2e-6 * (1 + s.convolution.taps() * s.convolution.channels));
    expect_near(expected.y, largest.y, 4e-6 * (1 + s.convolution.taps() * s.convolution.channels));
  } else {
    EXPECT_TRUE(same_bits(one.y, expected.y));
    EXPECT_EQ(one.places, expected.places);
  }
  expect_twice(one.dw, expected.dw, static_cast<double>(dy.size()) / s.convolution.filters);
  expect_twice(one.dbias, expected.dbias, static_cast<double>(dy.size()) / s.convolution.filters);
  EXPECT_TRUE(same_bits(one.y, two.y) && same_bits(one.dw, two.dw));
  EXPECT_TRUE(same_bits(one.dbias, two.dbias));
}

TEST(PooledConvolution, GivesWhatTheTwoPassesGive) {
  std::mt19937 engine(7);
  const auto from = [&](int64_t least, int64_t most) {
    return least + static_cast<int64_t>(engine() % (most - least + 1));
  };
  for (int i = 0; i < 150;) {
    Shape c{.batch = from(1, 3), .height = from(3, 17), .width = from(3, 17)};
    c.channels = from(1, 9), c.filters = from(1, 40);
    c.kernel_height = from(1, 4), c.kernel_width = from(1, 4);
    c.stride_height = from(1, 2), c.stride_width = from(1, 2);
    if (i % 2 > 0)
      c.top = from(0, 2), c.left = from(0, 2), c.bottom = from(0, 2), c.right = from(0, 2);
    const int64_t height = from(1, 3), width = from(1, 3);
    if (!has_output(c) || c.out_height() < height || c.out_width() < width) continue;
    check({c, windows_over(c, height, width, height + from(0, 1), width + from(0, 1))});
    if (HasFatalFailure() || HasFailure()) return;
    ++i;
  }
}

// 3 x 3 taps, windows of 2 x 2 and filters in sixteens, which newer CPUs have loops of their own
// for.
TEST(PooledConvolution, ByWindows) {
  std::mt19937 engine(8);
  for (int i = 0; i < 60; ++i) {
    Shape c{.batch = 1 + i % 3, .filters = 16 * (1 + i % 4)};
    c.height = 4 + static_cast<int64_t>(engine() % 12);
    c.width = 4 + static_cast<int64_t>(engine() % (i % 2 > 0 ? 12 : 70));
    c.channels = 1 + static_cast<int64_t>(engine() % 9);
    c.kernel_height = c.kernel_width = 3;
    if (i % 5 == 0) c.top = c.left = c.bottom = c.right = 1;
    check({c, windows_over(c, 2, 2, 2, 2)});
    if (HasFatalFailure() || HasFailure()) return;
  }
}

TEST(PooledConvolution, OfManyBands) {
  Shape c{.batch = 2, .height = 75, .width = 260, .channels = 3, .filters = 33};
  c.kernel_height = c.kernel_width = 3;
  check({c, windows_over(c, 2, 2, 2, 2)});
  check({same3x3(1, 64, 5, 24), windows_over(same3x3(1, 64, 5, 24), 2, 2, 2, 2)});
  check({same3x3(2, 150, 3, 32), windows_over(same3x3(2, 150, 3, 32), 2, 2, 2, 2)});
}

// What a window sees shows; the last row, which none looks at, does not.
TEST(PooledConvolution, NaNShowsWhereItIsSeen) {
  for (const int64_t taps : {1, 3}) {
    Shape c{.height = 9, .width = 9, .channels = 1, .filters = 16};
    c.kernel_height = c.kernel_width = taps;
    const PooledShape s{c, windows_over(c, 2, 2, 2, 2)};
    Problem p(c);
    const Floats dy(pooled_size(s), 1.0f);
    p.x[0] = NAN;
    const Results seen = joined(s, p, dy, 1);
    EXPECT_TRUE(std::isnan(seen.y[0]) && !std::isnan(seen.y[16]) && std::isnan(seen.dw[0]));
    p.x[0] = 0;
    p.x[8 * 9 + 3] = NAN;
    const Results unseen = joined(s, p, dy, 1);
    for (const float y : unseen.y) EXPECT_FALSE(std::isnan(y));
    for (const float dw : unseen.dw) EXPECT_FALSE(std::isnan(dw));
  }
}

// One in the gradient is in the sums of its filter, and in no other's.
TEST(PooledConvolution, NaNOfTheGradientShowsInItsFilter) {
  Shape c{.height = 9, .width = 9, .channels = 2, .filters = 32};
  c.kernel_height = c.kernel_width = 3;
  const PooledShape s{c, windows_over(c, 2, 2, 2, 2)};
  Floats dy(pooled_size(s), 1.0f);
  dy[3 * 32 + 17] = NAN;
  const Results found = joined(s, Problem(c), dy, 1);
  for (size_t i = 0; i < found.dw.size(); ++i) EXPECT_EQ(std::isnan(found.dw[i]), i % 32 == 17);
  for (size_t i = 0; i < 32; ++i) EXPECT_EQ(std::isnan(found.dbias[i]), i == 17);
}

// Of a convolution without a bias.
TEST(PooledConvolution, TheSumOfTheGradientIsLeftOut) {
  const Shape c = same3x3(1, 8, 3, 16);
  const PooledShape s{c, windows_over(c, 2, 2, 2, 2)};
  const Problem p(c);
  const Floats dy = random_floats(pooled_size(s), 9);
  const Results with = joined(s, p, dy, 1);
  Floats dw(w_size(c));
  const PooledWeightsGradient weights(s, 1);
  with_scratch(weights.scratch_bytes(), [&](void* scratch) {
    for (const bool add : {false, true})
      weights.run(p.x.data(), with.places.data(), dy.data(), dw.data(), nullptr, add, scratch);
  });
  EXPECT_TRUE(same_bits(dw, with.dw));
}

TEST(PooledConvolution, ServesWindowsSideBySide) {
  const Shape c = same3x3(1, 8, 3, 4);
  EXPECT_TRUE((PooledShape{c, windows_over(c, 2, 2, 2, 2)}).is_served());
  EXPECT_FALSE((PooledShape{c, windows_over(c, 3, 3, 2, 2)}).is_served());
  Pool padded = windows_over(c, 2, 2, 2, 2);
  padded.pad_top = 1;
  EXPECT_FALSE((PooledShape{c, padded}).is_served());
  Shape dilated = c;
  dilated.dilation_height = 2;
  EXPECT_FALSE((PooledShape{dilated, windows_over(c, 2, 2, 2, 2)}).is_served());
}

}  // namespace
}  // namespace snug

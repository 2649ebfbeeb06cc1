#include "snug/kernels/onednn_matmul.h"

#include <atomic>

#include "snug/base/error.h"
#include "snug/base/threads.h"
#include "snug/kernels/onednn_testing.h"

namespace snug {
namespace {

using testing::expect_near;
using testing::GuardedBlock;
using testing::random_floats;
using testing::same_bits;
using testing::Sum;
using Floats = std::vector<float>;

std::string text(const OnednnMatmulShape& s) {
  return fmt::format("{} x [{} x {} x {}]{}{}{}{}", s.batch, s.rows, s.columns, s.depth,
                     s.transpose_a ? " tA" : "", s.transpose_b ? " tB" : "", s.bias ? " bias" : "",
                     s.accumulate ? " +=" : "");
}

struct Operands {
  Operands(const OnednnMatmulShape& s, unsigned seed)
      : a(random_floats(s.batch * s.rows * s.depth, seed)),
        b(random_floats(s.batch * s.depth * s.columns, seed + 1)),
        bias(random_floats(s.columns, seed + 2)),
        before(random_floats(s.batch * s.rows * s.columns, seed + 3)) {}
  Floats a, b, bias, before;
};

Sum reference(const OnednnMatmulShape& s, const Operands& in, int64_t n, int64_t i, int64_t j) {
  Sum sum;
  if (s.accumulate) sum.add(in.before[(n * s.rows + i) * s.columns + j]);
  if (s.bias) sum.add(in.bias[j]);
  const float* a = in.a.data() + n * s.rows * s.depth;
  const float* b = in.b.data() + n * s.depth * s.columns;
  for (int64_t k = 0; k < s.depth; ++k) {
    const double left = s.transpose_a ? a[k * s.rows + i] : a[i * s.depth + k];
    const double right = s.transpose_b ? b[j * s.depth + k] : b[k * s.columns + j];
    sum.add(left * right);
  }
  return sum;
}

std::vector<Sum> reference(const OnednnMatmulShape& s, const Operands& in) {
  std::vector<Sum> sums;
  for (int64_t n = 0; n < s.batch; ++n) {
    for (int64_t i = 0; i < s.rows; ++i) {
      for (int64_t j = 0; j < s.columns; ++j) sums.push_back(reference(s, in, n, i, j));
    }
  }
  return sums;
}

Floats run(const OnednnMatmul& matmul, const Operands& in, int lane = 0) {
  Floats c = in.before;
  GuardedBlock scratch(matmul.scratch_bytes());
  EXPECT_TRUE(matmul.run(lane, in.a.data(), in.b.data(), in.bias.data(), c.data(), scratch.data()));
  EXPECT_TRUE(scratch.guards_hold());
  return c;
}

void check(const OnednnMatmulShape& shape, int threads) {
  const Operands in(shape, 1);
  OnednnMatmul matmul(shape, threads);
  matmul.compile(1);
  const Floats c = run(matmul, in);
  expect_near(reference(shape, in), c, text(shape));
  EXPECT_TRUE(same_bits(c, run(matmul, in))) << text(shape);
}

TEST(OnednnMatmul, MatchesReference) {
  const std::vector<std::array<int64_t, 4>> sizes = {
      {1, 1, 1, 1}, {1, 5, 7, 3}, {1, 64, 10, 100}, {1, 33, 65, 17}, {3, 6, 5, 9}, {4, 32, 32, 32}};
  for (const auto& [batch, rows, columns, depth] : sizes) {
    for (int bits = 0; bits < 16; ++bits) {
      for (const int threads : {1, 2}) {
        check({batch, rows, columns, depth, bool(bits & 1), bool(bits & 2), bool(bits & 4),
               bool(bits & 8)},
              threads);
      }
    }
  }
}

TEST(OnednnMatmul, WideLayersOfRealModels) {
  for (const int threads : {1, 2}) {
    check({.rows = 128, .columns = 256, .depth = 429, .bias = true}, threads);
    check({.rows = 429, .columns = 256, .depth = 128, .transpose_a = true}, threads);
    check({.rows = 128, .columns = 10, .depth = 1600, .bias = true}, threads);
  }
}

// Many short runs, so that two lanes meet inside the library even on a loaded machine.
TEST(OnednnMatmul, LanesRunAtTheSameTime) {
  constexpr int kLanes = 2;
  const OnednnMatmulShape shape = {.rows = 37, .columns = 50, .depth = 41, .bias = true};
  OnednnMatmul matmul(shape, 1);
  matmul.compile(kLanes);
  std::atomic<int> wrong{0};
  parallel_parts(kLanes, [&](int lane) {
    const Operands in(shape, 10 * lane);
    const Floats alone = run(matmul, in, lane);
    GuardedBlock scratch(matmul.scratch_bytes());
    for (int time = 0; time < 20000; ++time) {
      Floats c = in.before;
      wrong +=
          !matmul.run(lane, in.a.data(), in.b.data(), in.bias.data(), c.data(), scratch.data());
      wrong += !same_bits(c, alone);
    }
    expect_near(reference(shape, in), alone, text(shape));
  });
  EXPECT_EQ(wrong, 0);
}

TEST(OnednnMatmul, NanAndInfinityPassThrough) {
  const OnednnMatmulShape shape = {.rows = 9, .columns = 20, .depth = 13, .bias = true};
  Operands in(shape, 5);
  in.a[2 * shape.depth + 4] = std::numeric_limits<float>::quiet_NaN();
  in.b[6 * shape.columns + 11] = std::numeric_limits<float>::infinity();
  in.bias[19] = std::numeric_limits<float>::quiet_NaN();
  OnednnMatmul matmul(shape, 1);
  matmul.compile(1);
  expect_near(reference(shape, in), run(matmul, in), text(shape));
}

TEST(OnednnMatmul, SaysThatItAllocatesWhereItIsNotWanted) {
  const OnednnMatmul matmul({.rows = 64, .columns = 64, .depth = 64}, 1);
  EXPECT_EQ(matmul.allocates(), !onednn_wanted()) << matmul.implementation();
}

TEST(OnednnMatmul, AnEmptyProductIsOurMistake) {
  EXPECT_THROW(OnednnMatmul({.rows = 3, .columns = 0, .depth = 2}, 1), InternalError);
}

}  // namespace
}  // namespace snug

#include "snug/kernels/gemm.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <vector>

#include "snug/kernels/gemm_block.h"

namespace snug {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr size_t kGuard = 64;
constexpr unsigned char kCanary = 0xa5;

using Floats = std::vector<float>;

Floats random_floats(size_t size, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  Floats values(size);
  for (float& value : values) value = uniform(engine);
  return values;
}

// Aligned bytes of exactly the stated size between canaries, filled with NaN.
class Guarded {
 public:
  explicit Guarded(size_t size)
      : size_(size),
        block_(static_cast<unsigned char*>(
            std::aligned_alloc(64, (size + 2 * kGuard + 63) / 64 * 64))) {
    std::memset(block_.get(), kCanary, size + 2 * kGuard);
    std::memset(data(), 0xff, size);
  }
  void* data() { return block_.get() + kGuard; }
  bool intact() const {
    for (size_t i = 0; i < kGuard; ++i) {
      if (block_.get()[i] != kCanary || block_.get()[kGuard + size_ + i] != kCanary) return false;
    }
    return true;
  }

 private:
  struct Free {
    void operator()(void* block) const { std::free(block); }
  };
  size_t size_;
  std::unique_ptr<unsigned char, Free> block_;
};

struct Case {
  GemmShape shape;
  bool bias = false, accumulate = false, packed = false;
};

// What stands in the rows of C behind its columns stays as it was.
constexpr float kUntouched = 77;

struct Problem {
  explicit Problem(const Case& c, unsigned seed = 1)
      : a(random_floats((c.shape.transpose_a ? c.shape.k : c.shape.m) * c.shape.lda, seed)),
        b(random_floats((c.shape.transpose_b ? c.shape.n : c.shape.k) * c.shape.ldb, seed + 1)),
        bias(random_floats(c.shape.n, seed + 2)),
        c0(random_floats(c.shape.m * c.shape.ldc, seed + 3)) {
    for (int64_t i = 0; i < c.shape.m; ++i) {
      for (int64_t j = c.shape.n; j < c.shape.ldc; ++j) c0[i * c.shape.ldc + j] = kUntouched;
    }
  }
  Floats a, b, bias, c0;
};

Floats product(const Case& test, const Problem& problem, int threads) {
  const Gemm gemm(test.shape, threads);
  Guarded scratch(gemm.scratch_bytes()), packed(gemm.packed_bytes());
  if (test.packed) gemm.pack(problem.b.data(), packed.data());
  Floats c = problem.c0;
  gemm.run({.a = problem.a.data(),
            .b = test.packed ? nullptr : problem.b.data(),
            .packed_b = test.packed ? packed.data() : nullptr,
            .c = c.data(),
            .bias = test.bias ? problem.bias.data() : nullptr,
            .accumulate = test.accumulate},
           scratch.data());
  EXPECT_TRUE(scratch.intact());
  EXPECT_TRUE(packed.intact());
  return c;
}

void expect_reference(const Case& test, const Problem& problem, const Floats& c) {
  const GemmShape& s = test.shape;
  for (int64_t i = 0; i < s.m; ++i) {
    for (int64_t j = 0; j < s.n; ++j) {
      double sum = 0, magnitude = 1;
      for (int64_t p = 0; p < s.k; ++p) {
        const double term = double{problem.a[s.transpose_a ? p * s.lda + i : i * s.lda + p]} *
                            problem.b[s.transpose_b ? j * s.ldb + p : p * s.ldb + j];
        sum += term, magnitude += std::abs(term);
      }
      if (test.accumulate) sum += problem.c0[i * s.ldc + j];
      if (test.bias) sum += problem.bias[j];
      ASSERT_NEAR(c[i * s.ldc + j], sum, 3e-6 * magnitude) << "row " << i << ", column " << j;
    }
    for (int64_t j = s.n; j < s.ldc; ++j) ASSERT_EQ(c[i * s.ldc + j], kUntouched);
  }
}

std::string text(const Case& test) {
  const GemmShape& s = test.shape;
  return ::testing::PrintToString(std::vector<int64_t>{s.m, s.n, s.k, s.transpose_a, s.transpose_b,
                                                       s.lda, s.ldb, s.ldc, test.bias,
                                                       test.accumulate, test.packed});
}

bool same_bits(const Floats& x, const Floats& y) {
  return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof(float)) == 0;
}

Case random_case(std::mt19937& engine) {
  const int64_t sizes[] = {1,  2,   3,   4,   5,   6,   7,   8,   10,  11,  12,  13,
                           15, 16,  17,  24,  25,  31,  32,  33,  48,  63,  64,  65,
                           97, 100, 129, 191, 200, 255, 256, 257, 300, 513, 520, 700};
  const auto size = [&](int most) { return sizes[engine() % most]; };
  const bool large = engine() % 8 == 0;
  const int most = large ? 36 : 27;
  Case test{dense_gemm(size(most), size(most), size(36), engine() % 2, engine() % 2)};
  if (engine() % 2) {
    test.shape.lda += engine() % 5, test.shape.ldb += engine() % 5, test.shape.ldc += engine() % 5;
  }
  test.bias = engine() % 2, test.accumulate = engine() % 2, test.packed = engine() % 3 == 0;
  return test;
}

TEST(Gemm, MatchesReferenceOnRandomShapes) {
  std::mt19937 engine(7);
  for (int i = 0; i < 600; ++i) {
    const Case test = random_case(engine);
    SCOPED_TRACE(text(test));
    const Problem problem(test, i);
    expect_reference(test, problem, product(test, problem, 1 + i % 3));
    if (HasFatalFailure()) return;
  }
}

TEST(Gemm, MatchesReferenceAtEveryTileEdge) {
  const GemmTile tile = gemm_tile();
  for (int64_t m = 1; m <= 2 * tile.rows + 1; ++m) {
    for (int64_t n = 1; n <= 2 * tile.columns + 1; n += n < 20 ? 1 : 3) {
      for (int transposes = 0; transposes < 4; ++transposes) {
        const Case test{dense_gemm(m, n, 9, transposes & 1, transposes & 2), m % 2 == 0,
                        n % 2 == 0};
        SCOPED_TRACE(text(test));
        const Problem problem(test);
        expect_reference(test, problem, product(test, problem, 1));
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(Gemm, NothingToSumGivesBiasOrZero) {
  Case test{{.m = 3, .n = 5, .k = 0, .lda = 0, .ldb = 5, .ldc = 5}};
  for (const bool bias : {false, true}) {
    test.bias = bias;
    const Problem problem(test);
    expect_reference(test, problem, product(test, problem, 1));
  }
}

TEST(Gemm, BitsDoNotDependOnThreads) {
  for (const GemmShape& shape :
       {dense_gemm(200, 300, 700), dense_gemm(150, 200, 300, true),
        dense_gemm(400, 33, 600, false, true), dense_gemm(16, 16, 40000, true),
        dense_gemm(10, 64, 20000, true, true), dense_gemm(3000, 1, 300),
        dense_gemm(5000, 3, 300, true), dense_gemm(7, 5000, 77)}) {
    for (const bool accumulate : {false, true}) {
      const Case test{shape, /*bias=*/true, accumulate};
      SCOPED_TRACE(text(test));
      const Problem problem(test);
      const Floats alone = product(test, problem, 1);
      for (const int threads : {2, 3, 4, 7}) {
        EXPECT_TRUE(same_bits(alone, product(test, problem, threads))) << threads << " threads";
      }
    }
  }
}

TEST(Gemm, BitsOfARowDoNotDependOnTheOtherRows) {
  for (const auto& [n, k] : {std::pair{1, 300}, {3, 70}, {10, 1600}, {64, 100}, {300, 513}}) {
    for (int transposes = 0; transposes < 4; ++transposes) {
      const bool ta = transposes & 1, tb = transposes & 2;
      Case test{dense_gemm(67, n, k, ta, tb), /*bias=*/true};
      const Problem problem(test);
      const Floats whole = product(test, problem, 1);
      for (const int64_t m : {1, 2, 3, 5, 6, 7, 13, 32, 66}) {
        test.shape.m = m;  // the first rows of the same A
        const Floats part = product(test, problem, 1);
        EXPECT_EQ(std::memcmp(part.data(), whole.data(), m * n * sizeof(float)), 0) << text(test);
      }
    }
  }
}

TEST(Gemm, BitsDoNotDependOnPackingOrStrides) {
  for (const GemmShape& shape : {dense_gemm(70, 90, 300), dense_gemm(70, 90, 300, true, true),
                                 dense_gemm(40, 1, 99), dense_gemm(40, 2, 99, true)}) {
    Case test{shape};
    const Problem problem(test);
    const Floats plain = product(test, problem, 1);
    test.packed = true;
    EXPECT_TRUE(same_bits(plain, product(test, problem, 1))) << text(test);
  }
}

// One bad value in A reaches its row, one in B its column, even against zeros.
TEST(Gemm, NanAndInfGoThroughZeros) {
  for (int transposes = 0; transposes < 4; ++transposes) {
    for (const int64_t n : {1, 3, 10, 40}) {
      const int64_t m = 11, k = 37, row = 7, depth = 36;
      const bool ta = transposes & 1, tb = transposes & 2;
      const Case test{dense_gemm(m, n, k, ta, tb)};
      for (const float bad : {kNan, kInf}) {
        Problem problem(test);
        std::fill(problem.b.begin(), problem.b.end(), 0.0f);
        problem.a[ta ? depth * m + row : row * k + depth] = bad;
        const Floats c = product(test, problem, 1);
        for (int64_t i = 0; i < m; ++i) {
          for (int64_t j = 0; j < n; ++j)
            EXPECT_EQ(std::isnan(c[i * n + j]), i == row) << text(test);
        }
      }
      Problem problem(test);
      std::fill(problem.a.begin(), problem.a.end(), 0.0f);
      problem.b[tb ? (n - 1) * k + depth : depth * n + n - 1] = kNan;
      const Floats c = product(test, problem, 1);
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < n; ++j)
          EXPECT_EQ(std::isnan(c[i * n + j]), j == n - 1) << text(test);
      }
    }
  }
}

TEST(Gemm, ScratchIsBounded) {
  for (int transposes = 0; transposes < 4; ++transposes) {
    const GemmShape shape = dense_gemm(10000, 10000, 10000, transposes & 1, transposes & 2);
    EXPECT_LE(Gemm(shape, 1).scratch_bytes(), size_t{1} << 20);
    EXPECT_LE(Gemm(shape, 4).scratch_bytes(), size_t{4} << 20);
  }
  EXPECT_LE(Gemm(dense_gemm(16, 16, 1000000, true), 2).scratch_bytes(), size_t{2} << 20);
}

// Those of C as it stands there, whatever the tiles: with the rest of a tile, cut among threads, in
// several blocks of k, with NaN and infinity.
TEST(Gemm, NotesTheMagnitudesOfC) {
  for (const GemmShape& shape :
       {dense_gemm(200, 512, 64, true), dense_gemm(37, 45, 64, true),
        dense_gemm(200, 70, 900, true), dense_gemm(64, 512, 200), dense_gemm(5000, 10, 32, true),
        dense_gemm(4111, 2, 64, true), dense_gemm(333, 6, 900, true), dense_gemm(37, 11, 64, true),
        dense_gemm(5, 33, 7, false, true)}) {
    for (const int threads : {1, 2}) {
      const Gemm gemm(shape, threads);
      ASSERT_GT(gemm.notes(), 0);
      for (const float special : {0.5f, -30.0f, kInf, kNan}) {
        Floats a = random_floats(shape.m * shape.k, 1), b = random_floats(shape.k * shape.n, 2);
        a[a.size() / 2] = special;
        Floats c(shape.m * shape.n);
        Guarded scratch(gemm.scratch_bytes());
        std::vector<NotedMagnitude> notes(gemm.notes(), {7, 7});
        gemm.run({.a = a.data(), .b = b.data(), .c = c.data(), .notes = notes.data()},
                 scratch.data());
        double expected = 0, sum = 0;
        float largest = 0;
        uint32_t bits = 0;
        for (const float x : c) {
          expected += double{x} * x;
          largest = std::isnan(x) || std::isnan(largest) ? kNan : std::max(largest, std::abs(x));
        }
        for (const NotedMagnitude& note : notes) {
          sum += note.sum_squares;
          bits = std::max(bits, note.largest_bits);
        }
        const float noted = std::bit_cast<float>(bits);
        EXPECT_EQ(std::isnan(noted), std::isnan(largest));
        if (std::isfinite(largest)) {
          EXPECT_EQ(noted, largest);
          EXPECT_NEAR(sum, expected, 1e-5 * expected);
        } else {
          EXPECT_FALSE(std::isfinite(noted) || std::isfinite(sum));
        }
      }
    }
  }
}

TEST(Gemm, NotesNothingWhereItHasNoTiles) {
  EXPECT_EQ(Gemm(dense_gemm(100, 1, 64), 1).notes(), 0);
  EXPECT_EQ(Gemm(dense_gemm(0, 5, 64), 1).notes(), 0);
}

}  // namespace
}  // namespace snug

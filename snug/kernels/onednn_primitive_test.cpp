#include "snug/kernels/onednn_primitive.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <vector>

#include "snug/base/threads.h"
#include "snug/kernels/onednn_matmul.h"

namespace {
std::atomic<int> widest_team{0};

void raise(std::atomic<int>& peak, int to) {
  for (int seen = peak; seen < to && !peak.compare_exchange_weak(seen, to);) {
  }
}
}  // namespace

// Stands before OpenMP's own function, which every thread of a oneDNN region calls, so that a test
// sees how large the teams are. A region inside another one counts as a team of both. Declared here
// and not by omp.h, because GCC's and clang's differ in noexcept.
extern "C" {
int omp_get_num_threads();
int omp_get_level();
int omp_get_max_threads();
int omp_get_thread_num();
}
int omp_get_thread_num() {
  static const auto next = reinterpret_cast<int (*)()>(dlsym(RTLD_NEXT, "omp_get_thread_num"));
  raise(widest_team, omp_get_num_threads() * (omp_get_level() > 1 ? 2 : 1));
  return next();
}

namespace snug {
namespace {

constexpr int64_t kSize = 256;

struct Product {
  explicit Product(int threads)
      : matmul({.rows = kSize, .columns = kSize, .depth = kSize}, threads) {
    matmul.compile(threads == 1 ? 2 : 1);
  }
  bool run(int lane) {
    std::vector<float> c(kSize * kSize);
    std::vector<char> scratch(matmul.scratch_bytes() + 64);
    return matmul.run(lane, ones.data(), ones.data(), nullptr, c.data(), scratch.data()) &&
           c.front() == kSize && c.back() == kSize;
  }
  OnednnMatmul matmul;
  std::vector<float> ones = std::vector<float>(kSize * kSize, 1.0f);
};

TEST(OnednnPrimitive, OneThreadStaysOneThreadWhateverTheHostAllows) {
  Product product(1);
  widest_team = 0;
  EXPECT_TRUE(product.run(0));
  EXPECT_LE(widest_team, 1);
}

TEST(OnednnPrimitive, TwoThreadsAreTwoWhateverTheHostAllows) {
  const OnednnThreads host(1);
  Product product(2);
  widest_team = 0;
  EXPECT_TRUE(product.run(0));
  EXPECT_EQ(widest_team, 2);
  EXPECT_EQ(omp_get_max_threads(), 1);
}

TEST(OnednnPrimitive, OneThreadPrimitivesOpenNoRegionInsideOurs) {
  Product product(1);
  widest_team = 0;
  std::atomic<int> right{0};
#pragma omp parallel num_threads(2)
  right += product.run(omp_get_thread_num());
  EXPECT_EQ(right, 2);
  EXPECT_EQ(widest_team, 2);
}

TEST(OnednnPrimitive, SeveralThreadsInsideARegionAreRefused) {
  Product product(2);
  std::atomic<int> refused{0};
#pragma omp parallel num_threads(2)
  refused += !product.run(0);
  EXPECT_EQ(refused, 2);
  EXPECT_TRUE(product.run(0));
}

}  // namespace
}  // namespace snug

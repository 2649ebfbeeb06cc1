#include "snug/kernels/embedding.h"

#include <algorithm>
#include <cmath>

#include "snug/kernels/test_values.h"

namespace snug::kernels {
namespace {

std::vector<int32_t> random_indices(int64_t n, int32_t rows) {
  std::mt19937 engine(7);
  std::vector<int32_t> indices(static_cast<size_t>(n));
  for (int32_t& index : indices) {
    index = static_cast<int32_t>(engine() % static_cast<uint32_t>(rows));
  }
  return indices;
}

TEST(Embedding, GathersRowsAndMarksIndicesOutside) {
  const Floats table = random_values(6 * 5);
  const int32_t indices[] = {5, 0, 6, -1, 2};
  Floats y(5 * 5);
  gather_rows(table.data(), 6, indices, y.data(), 5, 5);
  for (size_t i = 0; i < 5; ++i) {
    for (size_t c = 0; c < 5; ++c) {
      if (indices[i] < 0 || indices[i] > 5) {
        EXPECT_TRUE(std::isnan(y[i * 5 + c]));
      } else {
        EXPECT_EQ(y[i * 5 + c], table[static_cast<size_t>(indices[i]) * 5 + c]);
      }
    }
  }
}

TEST(Embedding, RowSumsInOrderOfAppearance) {
  for (const int64_t n : {0, 1, 7, 300}) {
    for (const int32_t rows : {1, 5, 100, 1 << 30}) {
      for (const int64_t columns : {1, 3, 16}) {
        const std::vector<int32_t> indices = random_indices(n, rows);
        const Floats dy = random_values(n * columns);
        std::vector<int32_t> unique(indices.size());
        Floats sums(dy.size());
        std::vector<std::byte> scratch(row_sums_scratch_bytes(n));
        const int64_t count = row_sums(indices.data(), dy.data(), n, columns, unique.data(),
                                       sums.data(), scratch.data());
        unique.resize(static_cast<size_t>(count));
        std::vector<int32_t> expected;
        for (const int32_t index : indices) {
          if (std::find(expected.begin(), expected.end(), index) == expected.end()) {
            expected.push_back(index);
          }
        }
        ASSERT_EQ(unique, expected);
        for (size_t u = 0; u < unique.size(); ++u) {
          for (size_t c = 0; c < static_cast<size_t>(columns); ++c) {
            float sum = 0;  // In float32 and in order: the bits are fixed.
            for (size_t i = 0; i < indices.size(); ++i) {
              if (indices[i] == unique[u]) sum += dy[i * static_cast<size_t>(columns) + c];
            }
            ASSERT_EQ(sums[u * static_cast<size_t>(columns) + c], sum);
          }
        }
      }
    }
  }
}

TEST(Embedding, RowSumsOfIndicesFarApart) {
  constexpr int64_t kCount = 1000;
  std::vector<int32_t> indices, unique(kCount);
  std::vector<float> dy, sums(kCount);
  for (int64_t i = 0; i < kCount; ++i) {
    indices.push_back(static_cast<int32_t>(i % 500 * 4096));
    dy.push_back(static_cast<float>(i));
  }
  std::vector<int32_t> scratch(row_sums_scratch_bytes(kCount) / 4);
  ASSERT_EQ(
      row_sums(indices.data(), dy.data(), kCount, 1, unique.data(), sums.data(), scratch.data()),
      500);
  for (int64_t i = 0; i < 500; ++i) {
    ASSERT_EQ(unique[i], i * 4096);
    ASSERT_EQ(sums[i], static_cast<float>(2 * i + 500));
  }
}

TEST(Embedding, ScatterAddEqualsRowSums) {
  const std::vector<int32_t> indices = {3, 1, 3, 9, -2, 0};
  const Floats dy = random_values(6 * 9);
  Floats table(4 * 9, 1.0f);
  scatter_add(indices.data(), dy.data(), 6, 9, table.data(), 4);
  for (size_t r = 0; r < 4; ++r) {
    for (size_t c = 0; c < 9; ++c) {
      float sum = 1;
      for (size_t i = 0; i < 6; ++i) {
        if (indices[i] == static_cast<int32_t>(r)) sum += dy[i * 9 + c];
      }
      EXPECT_EQ(table[r * 9 + c], sum);
    }
  }
}

TEST(Embedding, OneHot) {
  const int32_t labels[] = {2, 0, 3, -1};
  Floats y(4 * 3, 9.0f);
  one_hot(labels, y.data(), 4, 3);
  EXPECT_EQ(y, (Floats{0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0}));
  one_hot(labels, y.data(), 1, 3, 0.9f, 0.05f);
  EXPECT_EQ((Floats{y[0], y[1], y[2]}), (Floats{0.05f, 0.05f, 0.9f}));
}

}  // namespace
}  // namespace snug::kernels

#include "snug/data/column_scan.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "snug/base/error.h"

namespace snug {
namespace {

TEST(Vocabulary, CountsWordsOfAnyLength) {
  Vocabulary words;
  for (int i = 0; i < 3; ++i) {
    for (const std::string_view word : {"a", "abcdefgh", "abcdefghi", "b", ""}) words.add(word);
  }
  words.add("a");
  EXPECT_EQ(words.size(), 5u);
  EXPECT_EQ(words.count("a"), 4);
  EXPECT_EQ(words.count("abcdefgh"), 3);
  EXPECT_EQ(words.count("abcdefghi"), 3);
  EXPECT_EQ(words.count(""), 3);
  EXPECT_EQ(words.count("never"), 0);
}

TEST(Vocabulary, ShortWordsThatDifferInZerosAreDifferent) {
  Vocabulary words;
  words.add(std::string_view("a\0", 2));
  words.add("a");
  words.add("a");
  EXPECT_EQ(words.count("a"), 2);
  EXPECT_EQ(words.count(std::string_view("a\0", 2)), 1);
}

// Whether it is full depends on all words together, not on who saw them.
TEST(Vocabulary, PartsMergeToTheWhole) {
  std::mt19937_64 random(3);
  for (const int most : {50, 4096, 5000}) {
    Vocabulary whole, first, second;
    for (int i = 0; i < 20'000; ++i) {
      const std::string word = std::to_string(random() % static_cast<uint64_t>(most));
      whole.add(word);
      (random() % 2 == 0 ? first : second).add(word);
    }
    Vocabulary merged;
    merged.merge(first);
    merged.merge(second);
    EXPECT_EQ(merged.is_full(), whole.is_full()) << most;
    EXPECT_EQ(merged.sorted(), whole.sorted());
    EXPECT_EQ(merged.count("7"), whole.count("7"));
  }
  Vocabulary small(200), other(200);
  small.add("a word");
  other.add("another one");
  small.merge(other);
  EXPECT_FALSE(small.is_full());
  other.add("and a third one");
  other.add("and a fourth");
  EXPECT_TRUE(other.is_full());
  small.merge(other);
  EXPECT_TRUE(small.is_full());
  EXPECT_EQ(small.size(), 0u);
}

TEST(ColumnScan, BlocksMergeToTheColumn) {
  std::mt19937_64 random(5);
  ColumnScan whole("x", 1 << 16), merged("x", 1 << 16), block("x", 1 << 16);
  whole.wants_hash = block.wants_hash = true;
  for (int64_t line = 1; line <= 3000; ++line) {
    std::string cell = fmt::format("{:.3f}", 1e6 + static_cast<double>(random() % 1000) / 7);
    if (random() % 20 == 0) cell = line > 700 ? "text" : "?";
    if (random() % 50 == 0) cell = "inf";
    whole.add(cell, line);
    block.add(cell, line);
    if (line % 100 != 0) continue;
    merged.merge(block);
    block.restart();
  }
  EXPECT_EQ(merged.cells, 3000);
  EXPECT_EQ(merged.missing, whole.missing);
  EXPECT_EQ(merged.not_finite, whole.not_finite);
  EXPECT_EQ(merged.whole, whole.whole);
  EXPECT_EQ(merged.hash, whole.hash);
  EXPECT_EQ(merged.first_text_line, whole.first_text_line);
  EXPECT_EQ(merged.min, whole.min);
  EXPECT_EQ(merged.max, whole.max);
  EXPECT_NEAR(merged.mean(), whole.mean(), 1e-6);
  EXPECT_NEAR(merged.deviation(), whole.deviation(), 1e-6);
  EXPECT_EQ(block.cells, 0);
}

}  // namespace
}  // namespace snug

#include "snug/data/words.h"

#include <gtest/gtest.h>

namespace snug::testing {
namespace {

std::vector<std::string> words_of(const std::vector<std::string>& pieces,
                                  const WordOptions& options = {}) {
  std::vector<std::string> words;
  WordStream stream(options, [&](std::string_view word) { words.emplace_back(word); });
  for (const std::string& piece : pieces) stream.add(piece);
  stream.end();
  return words;
}

using Words = std::vector<std::string>;

TEST(WordStream, CutsAtBlanksAndLeavesOutPunctuation) {
  EXPECT_EQ(words_of({"It's 5 o'clock,\tisn't it?\r\n"}),
            (Words{"its", "5", "oclock", "isnt", "it"}));
  EXPECT_EQ(words_of({"... -- !"}), Words{});
  EXPECT_EQ(words_of({""}), Words{});
  EXPECT_EQ(words_of({"\xc3\x84rger \xe6\x97\xa5"}), (Words{"\xc3\x84rger", "\xe6\x97\xa5"}));
}

TEST(WordStream, KeepsWhatItIsToldToKeep) {
  EXPECT_EQ(words_of({"A, b"}, {.lower = false}), (Words{"A", "b"}));
  EXPECT_EQ(words_of({"A, b"}, {.strip_punctuation = false}), (Words{"a,", "b"}));
}

// However a text is cut into pieces, its words are the same.
TEST(WordStream, PiecesDoNotMatter) {
  const std::string text = "the  quick brown fox; jumps over\nthe lazy dog";
  const Words whole = words_of({text});
  for (size_t cut = 0; cut <= text.size(); ++cut)
    EXPECT_EQ(words_of({text.substr(0, cut), text.substr(cut)}), whole) << cut;
}

TEST(WordStream, LongWordsAreCutOff) {
  const Words words = words_of({std::string(5000, 'x') + " y"});
  ASSERT_EQ(words.size(), 2u);
  EXPECT_EQ(words[0].size(), WordStream::kMostBytes);
}

TEST(WordCounts, EqualOnesStandBackwards) {
  WordCounts counts(100);
  for (const char* word : {"b", "a", "c", "a", "c"}) counts.add(word);
  EXPECT_EQ(counts.most_frequent(3), (Words{"c", "a", "b"}));
  EXPECT_EQ(counts.most_frequent(1), (Words{"c"}));
  EXPECT_EQ(counts.most_frequent(0), Words{});
}

TEST(WordIndex, NumbersBeginAtTwo) {
  const WordIndex index(Words{"the", "cat"});
  EXPECT_EQ(index.number("the"), 2);
  EXPECT_EQ(index.number("cat"), 3);
  EXPECT_EQ(index.number("dog"), 1);
  EXPECT_EQ(index.size(), 4);
}

TEST(WordIndex, HashesFillTheirRange) {
  const WordIndex index(int64_t{8});
  std::vector<int> counts(8);
  for (int i = 0; i < 700; ++i) ++counts[static_cast<size_t>(index.number(std::to_string(i)))];
  EXPECT_EQ(counts[0], 0);
  for (size_t i = 1; i < counts.size(); ++i) EXPECT_NEAR(counts[i], 100, 40);
  EXPECT_EQ(index.number("same"), index.number("same"));
}

}  // namespace
}  // namespace snug::testing

#include "snug/base/nearest_word.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace snug {
namespace {

constexpr std::array<std::string_view, 4> kWords = {"relu", "selu", "sigmoid", "softmax"};

TEST(NearestWord, BearsTypingMistakes) {
  EXPECT_EQ(nearest_word("rleu", kWords), "relu");
  EXPECT_EQ(nearest_word("sigmod", kWords), "sigmoid");
  EXPECT_EQ(nearest_word("Soft_Max", kWords), "softmax");
  EXPECT_EQ(nearest_word("soft", kWords), "softmax");
}

TEST(NearestWord, IsNoneWhereAllAreFarAway) {
  EXPECT_EQ(nearest_word("lstm", kWords), "");
  EXPECT_EQ(nearest_word("", kWords), "");
  EXPECT_EQ(nearest_word("x", {}), "");
}

TEST(NearestWord, IsSaid) {
  EXPECT_EQ(did_you_mean("rellu", kWords), "did you mean \"relu\"?");
  EXPECT_EQ(did_you_mean("rellu", kWords, ""), "did you mean relu?");
  EXPECT_EQ(did_you_mean("tanh", kWords, ""), "there are relu, selu, sigmoid, softmax");
  const std::vector<std::string_view> many(17, "relu");
  EXPECT_EQ(did_you_mean("tanh", many),
            "none of the 17 that there are is like it (docs/run_file.md lists them)");
}

TEST(NearestWord, CapitalsAndUnderscoresDoNotCount) {
  EXPECT_TRUE(same_word("MaxPooling2D", "max_pooling2d"));
  EXPECT_FALSE(same_word("MaxPooling2D", "max_pooling1d"));
}

}  // namespace
}  // namespace snug

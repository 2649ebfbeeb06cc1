#include "snug/base/nearest_word.h"

#include <gtest/gtest.h>

#include <array>

namespace snug {
namespace {

constexpr std::array<std::string_view, 4> kWords = {"relu", "selu", "sigmoid", "softmax"};

TEST(NearestWord, BearsTypingMistakes) {
  EXPECT_EQ(nearest_word("rleu", kWords), "relu");
  EXPECT_EQ(nearest_word("sigmod", kWords), "sigmoid");
  EXPECT_EQ(nearest_word("Soft_Max", kWords), "softmax");
  EXPECT_EQ(nearest_word("", kWords), "relu");
}

TEST(NearestWord, CapitalsAndUnderscoresDoNotCount) {
  EXPECT_TRUE(same_word("MaxPooling2D", "max_pooling2d"));
  EXPECT_FALSE(same_word("MaxPooling2D", "max_pooling1d"));
}

}  // namespace
}  // namespace snug

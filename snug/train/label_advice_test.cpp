#include "snug/train/label_advice.h"

#include <gtest/gtest.h>

namespace snug {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(LabelAdvice, OnNumbersOfClasses) {
  EXPECT_EQ(advice_on_label(7, 3), "mend the row, or give the last layer more units");
  EXPECT_TRUE(has(advice_on_label(3, 3), "where your labels are 1 to 3, take 1 off each"));
  // More units would not help.
  EXPECT_TRUE(has(advice_on_label(-1, 3), "ignore_class: -1"));
  EXPECT_FALSE(has(advice_on_label(-1, 3), "more units"));
}

TEST(LabelAdvice, OnProbabilities) {
  EXPECT_TRUE(has(advice_on_probability(2), "sparse_categorical_crossentropy"));
  EXPECT_TRUE(has(advice_on_probability(-1), "hinge"));
  for (const double amount : {-1.5, 14.27}) {
    EXPECT_TRUE(has(advice_on_probability(amount), "mse"));
    EXPECT_FALSE(has(advice_on_probability(amount), "sparse"));
  }
}

}  // namespace
}  // namespace snug

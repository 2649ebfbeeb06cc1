#include "snug/base/file_pages.h"

#include <gtest/gtest.h>

#include <cmath>

#include "snug/base/memory.h"

namespace snug {
namespace {

TEST(FilePages, AreCodeThatRan) {
  const FilePages pages = FilePages::resident();
  EXPECT_GT(pages.bytes(), 256 << 10);
  EXPECT_LT(pages.bytes(), resident_bytes());
  EXPECT_EQ(pages.minus(pages).bytes(), 0);
  EXPECT_EQ(pages.minus({}).bytes(), pages.bytes());
  EXPECT_EQ(pages.plus({}).bytes(), pages.bytes());
  EXPECT_EQ(pages.plus(pages).bytes(), pages.bytes());
}

TEST(FilePages, GivenBackAreNotResidentAndComeBackWhenTheyAreTouched) {
  const FilePages before = FilePages::resident();
  const int64_t resident = resident_bytes();
  before.give_back();
  const FilePages after = FilePages::resident();
  EXPECT_LT(after.bytes(), before.bytes() / 2);
  EXPECT_GT(before.minus(after).bytes(), before.bytes() / 2);
  EXPECT_EQ(before.plus(after).bytes(), before.bytes() + after.minus(before).bytes());
  EXPECT_EQ(before.minus(after).plus(after).bytes(), before.plus(after).bytes());
  EXPECT_LT(resident_bytes(), resident - before.bytes() / 3);
  before.touch();
  EXPECT_EQ(before.minus(FilePages::resident()).bytes(), 0);
  // Relocated constants and code are as they were.
  EXPECT_DOUBLE_EQ(std::sin(1.0) * std::sin(1.0) + std::cos(1.0) * std::cos(1.0), 1.0);
  EXPECT_THROW(throw std::runtime_error("unwinding works"), std::runtime_error);
}

}  // namespace
}  // namespace snug

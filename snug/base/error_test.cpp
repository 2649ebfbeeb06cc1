#include "snug/base/error.h"

#include <gtest/gtest.h>

#include <memory>

namespace snug {
namespace {

TEST(Error, FormatsItsMessage) {
  EXPECT_STREQ(Error("dense: {} is not {}", 3, "four").what(), "dense: 3 is not four");
  EXPECT_STREQ(Error(std::string("braces {} stay")).what(), "braces {} stay");
}

TEST(Error, EachKindHasItsExitCode) {
  EXPECT_EQ(Error(std::string()).exit_code(), 2);
  EXPECT_EQ(ShapeError(std::string()).exit_code(), 2);
  EXPECT_EQ(BudgetError(std::string()).exit_code(), 3);
  EXPECT_EQ(DataError(std::string()).exit_code(), 4);
  EXPECT_EQ(NumericsError(std::string()).exit_code(), 5);
  EXPECT_EQ(FileError(std::string()).exit_code(), 6);
  EXPECT_EQ(CorruptFile(std::string()).exit_code(), 6);
  EXPECT_EQ(InternalError(std::string()).exit_code(), 1);
}

TEST(Error, AKindIsCaughtAsAnError) {
  try {
    throw CorruptFile("a.snug: {}", "damaged");
  } catch (const Error& error) {
    EXPECT_EQ(error.exit_code(), 6);
  }
}

TEST(Check, HoldsSilently) { SNUG_CHECK(1 + 1 == 2, "never {}", "seen"); }

TEST(Check, NamesTheConditionThePlaceAndTheValues) {
  const auto message = [](auto&& fails) {
    try {
      fails();
    } catch (const InternalError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const std::string plain = message([] { SNUG_CHECK(2 < 1); });
  EXPECT_NE(plain.find("error_test.cpp:"), std::string::npos) << plain;
  EXPECT_NE(plain.find(": 2 < 1 does not hold; this is a mistake in Snug, please report it"),
            std::string::npos)
      << plain;
  const std::string detailed = message([] { SNUG_CHECK(2 < 1, "offset {}", 12); });
  EXPECT_NE(detailed.find("2 < 1 does not hold: offset 12; "), std::string::npos) << detailed;
}

}  // namespace
}  // namespace snug

#include "snug/train/state_numbers.h"

#include <gtest/gtest.h>

#include "snug/base/error.h"
#include "snug/train/state_bytes.h"

namespace snug {
namespace {

// One of each kind, in an order that memory does not have.
struct Numbers {
  bool truth = false;
  int64_t count = 0;
  int small = 0;
  std::vector<double> several = {1, 2, 3};
  std::vector<double> none;
  uint64_t large = 0;
  double real = 0;

  void visit(StateVisitor& visitor) {
    visitor.visit("real", real);
    visitor.visit("small", small);
    visitor.visit("several", several);
    visitor.visit("truth", truth);
    visitor.visit("none", none);
    visitor.visit("large", large);
    visitor.visit("count", count);
  }
  void change(int by) {
    truth = by % 2 == 1;
    count -= by;
    small -= 3 * by;
    several[1] += by;
    large = ~uint64_t{0} - static_cast<uint64_t>(by);
    real += 0.5 * by;
  }
};

std::vector<std::byte> written(Numbers& numbers) {
  StateWriter writer;
  numbers.visit(writer);
  return writer.take();
}

TEST(StateNumbers, GiveTheBytesOfTheMomentTheyWereTaken) {
  Numbers first, second;
  StateNumbers numbers;
  std::vector<CheckpointSection> sections = {{"other", {}}, {"first", {}}, {"second", {}}};
  sections[1].bytes = numbers.add(1, [&](StateVisitor& v) { first.visit(v); });
  sections[2].bytes = numbers.add(2, [&](StateVisitor& v) { second.visit(v); });
  EXPECT_EQ(sections[1].bytes, written(first));
  for (int round = 1; round < 5; ++round) {
    first.change(round);
    second.change(10 * round + 1);
    const auto expected_first = written(first), expected_second = written(second);
    numbers.take();
    first.change(100);
    second.change(100);
    numbers.put_into(sections);
    EXPECT_TRUE(sections[0].bytes.empty());
    EXPECT_EQ(sections[1].bytes, expected_first);
    EXPECT_EQ(sections[2].bytes, expected_second);
  }
}

TEST(StateNumbers, CanBeListedAnew) {
  Numbers first;
  StateNumbers numbers;
  numbers.add(7, [&](StateVisitor& v) { first.visit(v); });
  numbers.clear();
  double real = 2;
  std::vector<CheckpointSection> sections = {{"a", {}}};
  sections[0].bytes = numbers.add(0, [&](StateVisitor& v) { v.visit("real", real); });
  real = 3;
  numbers.take();
  numbers.put_into(sections);
  StateReader reader(sections[0].bytes, "test");
  reader.visit("real", real = 0);
  EXPECT_EQ(real, 3);
}

TEST(StateNumbers, TextsAndArraysAreNone) {
  StateNumbers numbers;
  std::string text;
  EXPECT_THROW(numbers.add(0, [&](StateVisitor& v) { v.visit("text", text); }), InternalError);
  EXPECT_THROW(numbers.add(0, [&](StateVisitor& v) { v.visit_values("values", {}); }),
               InternalError);
}

}  // namespace
}  // namespace snug

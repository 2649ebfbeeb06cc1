#include "snug/data/generator.h"

#include <cmath>

#include "snug/data/source_testing.h"

namespace snug {
namespace {

using testing::expect_within;
using testing::message_of;
using testing::OwnedSlot;
using testing::rest_of;

// Makes rows of two numbers, 2 i and 2 i + 1, and the label i; up to `burst` at once.
struct Counter {
  int64_t end, burst;
  int64_t position = 0, calls = 0;

  int64_t operator()(std::span<const Tensor> slots) {
    ++calls;
    const int64_t rows = std::min({slots[0].shape()[0], burst, end - position});
    for (int64_t i = 0; i < rows; ++i, ++position) {
      slots[0].as<float>()[2 * i] = static_cast<float>(2 * position);
      slots[0].as<float>()[2 * i + 1] = static_cast<float>(2 * position + 1);
      slots[1].as<int32_t>()[i] = static_cast<int32_t>(position);
    }
    return rows;
  }
};

SourcePtr counting(Counter& counter, bool restarts = true) {
  GeneratorSpec spec{.x = {{2}}, .y = {{}, DType::int32}};
  if (restarts) spec.restart = [&counter] { counter.position = 0; };
  return data::generator([&counter](std::span<const Tensor> slots) { return counter(slots); },
                         spec);
}

TEST(Generator, IsDescribedAsInTheDesign) {
  const auto none = [](std::span<const Tensor>) { return int64_t{0}; };
  const SourcePtr frames = data::generator(none, {.x = {{224, 224, 3}}, .y = {{}, DType::int32}});
  ASSERT_EQ(frames->fields().size(), 2);
  EXPECT_EQ(frames->fields()[0].row, (Shape{224, 224, 3}));
  EXPECT_EQ(frames->fields()[1].row, Shape{});
  EXPECT_EQ(frames->fields()[1].stored, StoredType::int32);
  const SourcePtr pairs =
      data::generator(none, {.x = {{{28, 28}, DType::uint8}, {{3}}}, .weighted = true, .rows = 7});
  ASSERT_EQ(pairs->fields().size(), 3);
  EXPECT_EQ(pairs->fields()[0].stored, StoredType::uint8);
  EXPECT_EQ(pairs->fields()[1].name, "generator: x1");
  EXPECT_EQ(pairs->fields()[2].role, FieldRole::weight);
  EXPECT_EQ(pairs->rows(), 7);
  EXPECT_GE(pairs->buffer_bytes(), 28 * 28 + 3 * 4 + 4);
}

TEST(Generator, GivesItsRowsInAnyPieces) {
  for (const int64_t burst : {1, 3, 1000}) {
    for (const int64_t count : {1, 4, 50, 200}) {
      Counter counter{.end = 50, .burst = burst};
      const SourcePtr source = counting(counter);
      const std::vector<float> x = rest_of(*source, 0, count);
      ASSERT_EQ(x.size(), 100);
      for (int i = 0; i < 100; ++i) EXPECT_EQ(x[i], i);
      source->begin_pass(1);
      EXPECT_EQ(rest_of<int32_t>(*source, 1, count).at(49), 49);
      source->restart();
      EXPECT_EQ(rest_of<float>(*source, 1, count).at(49), 49.0f) << "cast";
    }
  }
}

TEST(Generator, WritesIntoSlotsOfItsType) {
  Counter counter{.end = 50, .burst = 1000};
  const SourcePtr source = counting(counter);
  const OwnedSlot<float> x(20, {2});
  const OwnedSlot<int32_t> y(20, {});
  const std::vector<Tensor> slots = {x.tensor(), y.tensor()};
  EXPECT_EQ(source->next(20, slots), 20);
  EXPECT_EQ(counter.calls, 1);
  EXPECT_EQ(x.values()[39], 39);
  EXPECT_EQ(source->next(20, slots), 20);
  EXPECT_EQ(source->next(20, slots), 10);
  EXPECT_EQ(y.values()[9], 49);
  EXPECT_EQ(source->next(20, slots), 0);
}

TEST(Generator, IsNotAskedAfterItsEnd) {
  Counter counter{.end = 5, .burst = 1000};
  const SourcePtr source = counting(counter, /*restarts=*/false);
  EXPECT_EQ(source->access(), Access::once);
  rest_of(*source, 0, 10);
  const int64_t calls = counter.calls;
  source->begin_pass(1);
  EXPECT_TRUE(rest_of(*source, 0, 10).empty());
  EXPECT_EQ(counter.calls, calls);
  expect_within(message_of([&] { source->restart(); }),
                "generator: it cannot start again after 5 rows");
}

SourcePtr one_value(double value, GeneratorSpec spec) {
  return data::generator(
      [value](std::span<const Tensor> slots) {
        std::ranges::fill(slots[0].as<double>(), 1.0);
        slots[0].as<double>().back() = value;
        return slots[0].shape()[0];
      },
      std::move(spec));
}

TEST(Generator, NamesABadRow) {
  const SourcePtr source = one_value(std::nan(""), {.x = {{2}, DType::float64}, .rows = 9});
  expect_within(message_of<DataError>([&] { rest_of(*source, 0, 4); }),
                "generator: x: row 3, column 1 is nan, but a finite number was expected");
}

TEST(Generator, NamesABadRowInASlotOfItsType) {
  const SourcePtr source = data::generator(
      [](std::span<const Tensor> slots) {
        slots[0].as<float>()[0] = std::nanf("");
        return int64_t{1};
      },
      {.x = {{2}}});
  const OwnedSlot<float> slot(3, {2});
  expect_within(message_of<DataError>([&] { source->next(3, std::vector{slot.tensor()}); }),
                "generator: x: row 0, column 0 is nan");
}

TEST(Generator, HoldsTheFunctionToItsNumbers) {
  const auto of = [](int64_t made, std::optional<int64_t> rows = {}) {
    return data::generator([made](std::span<const Tensor>) { return made; },
                           {.x = {{2}}, .rows = rows});
  };
  expect_within(message_of([&] { rest_of(*of(5), 0, 4); }),
                "made 5 rows, but there was room for 4");
  expect_within(message_of([&] { rest_of(*of(-1), 0, 4); }), "made -1 rows");
  expect_within(message_of([&] { rest_of(*of(0, 10), 0, 4); }),
                "it ended after 0 rows, but its spec says 10");
  expect_within(message_of([] { data::generator({}, {.x = {{2}}}); }), "no function was given");
  expect_within(
      message_of([] { data::generator([](std::span<const Tensor>) { return int64_t{0}; }, {}); }),
      "nothing was given to read");
}

TEST(Generator, StopsAtTheRowsOfItsSpec) {
  const SourcePtr source = one_value(2, {.x = {{}, DType::float64}, .rows = 6});
  EXPECT_EQ(rest_of(*source, 0, 4).size(), 6);
}

}  // namespace
}  // namespace snug

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "snug/ops/ops.h"
#include "snug/testing/check_op.h"

namespace snug {
namespace {

using testing::check_op;
using testing::Doubles;

constexpr DType kAll[] = {DType::float32, DType::float64, DType::int32,
                          DType::int64,   DType::uint8,   DType::boolean};

double held_within(double x, DType dtype) {
  switch (dtype) {
    case DType::float32:
    case DType::float64:
      return x;
    case DType::int32:
      return std::clamp(std::trunc(x), -0x1p31, 0x1p31 - 1);
    case DType::int64:
      return std::trunc(x);
    case DType::uint8:
      return std::clamp(std::trunc(x), 0.0, 255.0);
    case DType::boolean:
      return x != 0;
  }
  return x;
}

TEST(Cast, EveryPair) {
  for (const DType from : kAll) {
    for (const DType to : kAll) {
      SCOPED_TRACE(fmt::format("{} to {}", name_of(from), name_of(to)));
      check_op({.inputs = {{from, {kRows, 3}}},
                .build = [&](const Values& in) { return ops::cast(in[0], to); },
                .reference =
                    [&](const auto& in) {
                      Doubles y = in[0];
                      for (double& element : y) element = held_within(element, to);
                      return y;
                    },
                .result = {kRows, 3},
                .low = -300,
                .high = 300,
                .integer_bound = from == DType::uint8 ? 256 : 1000,
                .has_gradient = from == DType::float32 && is_float(to)});
    }
  }
}

TEST(Cast, LargeValuesOnTwoThreads) {
  check_op({.inputs = {{DType::int32, {300, 400}}},
            .build = [](const Values& in) { return ops::cast(in[0], DType::float32); },
            .reference = [](const auto& in) { return in[0]; },
            .result = {300, 400},
            .has_gradient = false});
}

Doubles cast_of(const Doubles& x, DType from, DType to) {
  Graph graph;
  const Value input = graph.input("x", {from, {static_cast<int64_t>(x.size())}});
  const Value y = ops::cast(input, to);
  return testing::to_doubles(testing::run_graph(graph, {y}, {testing::to_bytes(x, from)}, {})[0],
                             to);
}

TEST(Cast, HoldsWhatIsOutOfRange) {
  const Doubles x = {1e30, -1e30, HUGE_VAL, -HUGE_VAL, std::nan(""), -0.9, 255.9};
  EXPECT_EQ(cast_of(x, DType::float32, DType::int32),
            (Doubles{0x1p31 - 1, -0x1p31, 0x1p31 - 1, -0x1p31, -0x1p31, 0, 255}));
  EXPECT_EQ(cast_of(x, DType::float32, DType::int64),
            (Doubles{0x1p63, -0x1p63, 0x1p63, -0x1p63, -0x1p63, 0, 255}));
  EXPECT_EQ(cast_of(x, DType::float32, DType::uint8), (Doubles{255, 0, 255, 0, 0, 0, 255}));
  EXPECT_EQ(cast_of(x, DType::float64, DType::int32),
            (Doubles{0x1p31 - 1, -0x1p31, 0x1p31 - 1, -0x1p31, -0x1p31, 0, 255}));
  EXPECT_EQ(cast_of(x, DType::float32, DType::boolean), Doubles(7, 1));
  EXPECT_EQ(cast_of({300, -1, 7}, DType::int32, DType::uint8), (Doubles{255, 0, 7}));
  EXPECT_EQ(cast_of({1e12, -1e12, 7}, DType::int64, DType::int32),
            (Doubles{0x1p31 - 1, -0x1p31, 7}));
}

TEST(Cast, ToItsOwnTypeAddsNothing) {
  Graph graph;
  const Value x = graph.input("x", {DType::int32, {3}});
  EXPECT_EQ(ops::cast(x, DType::int32), x);
}

}  // namespace
}  // namespace snug

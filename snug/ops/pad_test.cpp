#include <gtest/gtest.h>

#include "snug/autodiff/gradients.h"
#include "snug/ops/ops.h"
#include "snug/testing/check_op.h"

namespace snug {
namespace {

using testing::check_op;
using testing::Doubles;
using testing::error_of;

using Border = std::vector<std::array<int64_t, 2>>;

Doubles padded(const Doubles& x, const Shape& from, const Border& border, double value) {
  int64_t size = 1;
  for (int axis = 0; axis < from.rank(); ++axis)
    size *= from[axis] + border[axis][0] + border[axis][1];
  Doubles y;
  for (int64_t i = 0; i < size; ++i) {
    int64_t rest = i, stride = 1, at = 0;
    bool inside = true;
    for (int axis = from.rank() - 1; axis >= 0; --axis) {
      const int64_t extent = from[axis] + border[axis][0] + border[axis][1];
      const int64_t index = rest % extent - border[axis][0];
      inside &= index >= 0 && index < from[axis];
      at += index * stride;
      rest /= extent;
      stride *= from[axis];
    }
    y.push_back(inside ? x[at] : value);
  }
  return y;
}

void check(const Shape& from, const Border& border, const Shape& to, float value = 0,
           DType dtype = DType::float32) {
  SCOPED_TRACE(from.text() + " to " + to.text());
  check_op({.inputs = {{dtype, from}},
            .build = [&](const Values& in) { return ops::pad(in[0], border, value); },
            .reference = [&](const auto& in) { return padded(in[0], from.at(5), border, value); },
            .result = to,
            .has_gradient = is_float(dtype)});
}

TEST(Pad, PutsABorderAround) {
  check({3}, {{1, 2}}, {6});
  check({2, 3}, {{1, 0}, {0, 2}}, {3, 5}, 1.5f);
  check({2, 3, 2}, {{1, 1}, {2, 0}, {0, 1}}, {4, 5, 3}, -1);
  check({2, 3}, {{0, 0}, {0, 0}}, {2, 3});
  check({}, {}, {});
  check({kRows, 3, 2}, {{0, 0}, {1, 2}, {1, 0}}, {kRows, 6, 3});
  check({Extent(2, true), 2}, {{0, 0}, {1, 1}}, {Extent(2, true), 4}, 2);
  check({260, 260}, {{1, 1}, {1, 1}}, {262, 262});
}

TEST(Pad, EveryType) {
  for (const DType dtype :
       {DType::float64, DType::int32, DType::int64, DType::uint8, DType::boolean}) {
    SCOPED_TRACE(name_of(dtype));
    const Border border = {{0, 0}, {2, 1}};
    check_op({.inputs = {{dtype, {kRows, 3}}},
              .build = [&](const Values& in) { return ops::pad(in[0], border, 1); },
              .reference =
                  [&](const auto& in) {
                    return padded(in[0], {5, 3}, border, 1);
                  },
              .result = {kRows, 6},
              .has_gradient = false});
  }
}

TEST(Pad, AValueWithoutElementsHasNoGradient) {
  Graph graph;
  const Value x = graph.input("x", {DType::float32, {kRows, 0}});
  const Value y = ops::pad(x, {{0, 0}, {1, 2}});
  EXPECT_EQ(y.shape(), (Shape{kRows, 3}));
  EXPECT_FALSE(gradients(y, graph.input("g", y.type()), {x})[0]);
}

TEST(Pad, NamesWhatDoesNotFit) {
  Graph graph;
  const Value x = graph.input("x", {DType::float32, {kRows, 4}});
  const auto error = [&](const Border& border) { return error_of([&] { ops::pad(x, border); }); };
  EXPECT_EQ(error({{1, 1}}),
            "pad: [rows, 4] has 2 axes, but 1 pairs of (before, after) were given");
  EXPECT_EQ(error({{1, 0}, {0, 0}}),
            "pad: (1, 0) around axis 0 of [rows, 4]: rows cannot be padded");
  EXPECT_EQ(error({{0, 0}, {0, -1}}),
            "pad: (0, -1) around axis 1 of [rows, 4] is negative; cut with slice");
}

}  // namespace
}  // namespace snug

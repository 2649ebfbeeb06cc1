#include <gtest/gtest.h>

#include "snug/autodiff/gradients.h"
#include "snug/ops/ops.h"
#include "snug/testing/check_op.h"

namespace snug {
namespace {

using testing::check_op;
using testing::Doubles;
using testing::error_of;

// Of a concrete shape, with begins that are not negative.
Doubles sliced(const Doubles& x, const Shape& from, const Shape& to,
               const ops::SliceOptions& options) {
  Doubles y;
  for (int64_t i = 0; i < to.size(); ++i) {
    int64_t rest = i, stride = 1, at = 0;
    for (int axis = to.rank() - 1; axis >= 0; --axis) {
      const int64_t step = options.step.empty() ? 1 : options.step[axis];
      at += (options.begin[axis] + rest % to[axis] * step) * stride;
      rest /= to[axis];
      stride *= from[axis];
    }
    y.push_back(x[at]);
  }
  return y;
}

void check(const Shape& from, const ops::SliceOptions& options, const Shape& to,
           DType dtype = DType::float32) {
  SCOPED_TRACE(from.text() + " to " + to.text());
  check_op(
      {.inputs = {{dtype, from}},
       .build = [&](const Values& in) { return ops::slice(in[0], options); },
       .reference = [&](const auto& in) { return sliced(in[0], from.at(5), to.at(5), options); },
       .result = to,
       .has_gradient = is_float(dtype),
       .may_hide_nan = true});
}

TEST(Slice, TakesAPart) {
  check({6}, {.begin = {2}, .size = {3}}, {3});
  check({6}, {.begin = {1}, .size = {-1}, .step = {2}}, {3});
  check({6}, {.begin = {0}, .size = {2}, .step = {4}}, {2});
  check({6}, {.begin = {5}, .size = {-1}, .step = {-1}}, {6});
  check({6}, {.begin = {4}, .size = {2}, .step = {-3}}, {2});
  check({3, 4, 5}, {.begin = {1, 0, 2}, .size = {2, -1, 2}}, {2, 4, 2});
  check({3, 4}, {.begin = {0, 3}, .size = {-1, 1}}, {3, 1}, DType::int32);
  check({3, 4}, {.begin = {0, 1}, .size = {2, 3}}, {2, 3}, DType::boolean);
  check({kRows, 4}, {.begin = {0, 1}, .size = {-1, 2}}, {kRows, 2});
  check({kRows, 4, 3}, {.begin = {0, 3, 0}, .size = {-1, -1, 2}, .step = {1, -1, 2}},
        {kRows, 4, 2});
  check({Extent(2, true), 4}, {.begin = {0, 1}, .size = {-1, 2}}, {Extent(2, true), 2});
  check({260, 260}, {.begin = {1, 1}, .size = {258, 258}}, {258, 258});
}

TEST(Slice, CountsNegativeBeginsFromTheEnd) {
  Graph graph;
  const Value x = graph.input("x", {DType::float32, {3}});
  const Value last = ops::slice(x, {.begin = {-1}, .size = {1}});
  const auto result =
      testing::run_graph(graph, {last}, {testing::to_bytes({1, 2, 3}, DType::float32)}, {});
  EXPECT_EQ(testing::to_doubles(result[0], DType::float32), Doubles{3});
}

TEST(Slice, OfEverythingIsTheValue) {
  Graph graph;
  const Value x = graph.input("x", {DType::float32, {kRows, 3}});
  EXPECT_EQ(ops::slice(x, {.begin = {0, 0}, .size = {-1, 3}}), x);
}

TEST(Slice, DifferentiatesTwice) {
  const ops::SliceOptions options{.begin = {1}, .size = {2}};
  check_op({.inputs = {{DType::float32, {4}}},
            .build =
                [&](const Values& in) {
                  const Value part = ops::slice(in[0], options);
                  return gradients(ops::sum(ops::multiply(part, part)), in)[0];
                },
            .reference =
                [](const auto& in) {
                  return Doubles{0, 2 * in[0][1], 2 * in[0][2], 0};
                },
            .result = {4}});
}

TEST(Slice, NamesWhatIsOutside) {
  Graph graph;
  const Value x = graph.input("x", {DType::float32, {kRows, 4}});
  const auto error = [&](const ops::SliceOptions& options) {
    return error_of([&] { ops::slice(x, options); });
  };
  EXPECT_EQ(error({.begin = {0}, .size = {-1}}),
            "slice: [rows, 4] has 2 axes, but begin, size and step name 1, 1 and 0");
  EXPECT_EQ(error({.begin = {1, 0}, .size = {-1, 2}}),
            "slice: axis 0 of [rows, 4] is rows and must be taken whole: begin 0, size -1, step 1; "
            "got 1, -1, 1");
  EXPECT_EQ(error({.begin = {0, 2}, .size = {-1, 3}}),
            "slice: 3 elements from 2 on, 1 apart, are not inside axis 1 of [rows, 4]");
  EXPECT_EQ(error({.begin = {0, 4}, .size = {-1, -1}}),
            "slice: 0 elements from 4 on, 1 apart, are not inside axis 1 of [rows, 4]");
  EXPECT_EQ(error({.begin = {0, 0}, .size = {-1, 2}, .step = {1, 0}}),
            "slice: the step of axis 1 is 0; it must not be");
}

}  // namespace
}  // namespace snug

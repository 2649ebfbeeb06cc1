#include <gtest/gtest.h>

#include <cmath>

#include "snug/ops/ops.h"
#include "snug/testing/check_op.h"

namespace snug {
namespace {

using testing::check_op;
using testing::Doubles;
using testing::error_of;

Type floats(const Shape& shape) { return {DType::float32, shape}; }

// x is [rows, spatial, channels]; gamma and beta may be null.
Doubles normalised(const Doubles& x, int64_t spatial, int64_t channels, int64_t groups,
                   const Doubles* gamma, const Doubles* beta) {
  const int64_t width = channels / groups;
  const auto count = static_cast<double>(spatial * width);
  Doubles y(x.size());
  for (size_t row = 0; row < x.size(); row += spatial * channels) {
    for (int64_t group = 0; group < groups; ++group) {
      const auto each = [&](const auto& visit) {
        for (int64_t s = 0; s < spatial; ++s) {
          for (int64_t c = group * width; c < (group + 1) * width; ++c)
            visit(row + s * channels + c, c);
        }
      };
      double mean = 0, variance = 0;
      each([&](size_t i, int64_t) { mean += x[i] / count; });
      each([&](size_t i, int64_t) { variance += (x[i] - mean) * (x[i] - mean) / count; });
      each([&](size_t i, int64_t c) {
        y[i] = (x[i] - mean) / std::sqrt(variance + double(1e-3f));
        if (gamma != nullptr) y[i] *= (*gamma)[c];
        if (beta != nullptr) y[i] += (*beta)[c];
      });
    }
  }
  return y;
}

void check(const Shape& shape, int64_t groups, bool has_gamma, bool has_beta, int64_t rows = 5) {
  SCOPED_TRACE(shape.text() + " in " + std::to_string(groups));
  const int64_t channels = shape[-1], spatial = shape.part(1, shape.rank() - 1).size();
  Types inputs = {floats(shape)};
  if (has_gamma) inputs.push_back(floats({channels}));
  if (has_beta) inputs.push_back(floats({channels}));
  check_op({.inputs = inputs,
            .build =
                [&](const Values& in) {
                  return ops::group_norm(in[0], {.groups = groups,
                                                 .gamma = has_gamma ? in[1] : Value(),
                                                 .beta = has_beta ? in.back() : Value()});
                },
            .reference =
                [&](const std::vector<Doubles>& in) {
                  return normalised(in[0], spatial, channels, groups, has_gamma ? &in[1] : nullptr,
                                    has_beta ? &in.back() : nullptr);
                },
            .result = shape,
            .rows = rows});
}

TEST(GroupNorm, InGroups) {
  check({kRows, 3, 3, 8}, 4, true, true);
  check({kRows, 12}, 3, true, true, 1);
  check({kRows, 5, 6}, 1, true, false);
  check({kRows, 2, 3, 6}, 2, false, true, 3);
  check({kRows, 4, 4}, 2, false, false);
  check({kRows, 3, 5}, 5, true, true);
  check({4, 3, 6}, 2, true, true);
  check({kRows, 14, 15, 32}, 4, true, true);
}

TEST(GroupNorm, Refuses) {
  Graph graph;
  const Value x = graph.input("x", floats({kRows, 3, 8}));
  const Value flat = graph.input("flat", floats({kRows}));
  const Value three = graph.input("three", floats({3}));
  EXPECT_EQ(error_of([&] { ops::group_norm(x, {.groups = 3}); }),
            "group_norm: the 8 channels of float32[rows, 3, 8] cannot be cut into 3 equal groups; "
            "give a divisor of 8");
  EXPECT_EQ(error_of([&] { ops::group_norm(x, {.groups = 0}); }),
            "group_norm: the 8 channels of float32[rows, 3, 8] cannot be cut into 0 equal groups; "
            "give a divisor of 8");
  EXPECT_EQ(error_of([&] { ops::group_norm(flat, {.groups = 1}); }),
            "group_norm: expected float32[rows, ..., channels], got float32[rows]");
  EXPECT_EQ(error_of([&] { ops::group_norm(x, {.groups = 2, .beta = three}); }),
            "group_norm: beta is float32[3], but a value float32[rows, 3, 8] wants float32[8]");
  EXPECT_EQ(error_of([&] { ops::group_norm(Value(), {}); }), "group_norm: the value is empty");
}

}  // namespace
}  // namespace snug

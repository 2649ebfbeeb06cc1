#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "snug/autodiff/gradients.h"
#include "snug/ops/image_ops.h"
#include "snug/ops/ops.h"
#include "snug/testing/check_op.h"

namespace snug {
namespace {

using testing::check_op;
using testing::Doubles;
using testing::error_of;

struct Case {
  int64_t height, width, channels;
  std::array<int64_t, 2> factors;
  static constexpr int64_t kImages = 5;
};

const std::vector<Case> kCases = {
    {3, 4, 2, {2, 3}}, {1, 1, 3, {2, 2}}, {4, 3, 1, {1, 4}}, {2, 2, 17, {3, 3}}};

double pixel(const Case& c, const Doubles& x, int64_t image, int64_t i, int64_t j,
             int64_t channel) {
  i = std::clamp<int64_t>(i, 0, c.height - 1);
  j = std::clamp<int64_t>(j, 0, c.width - 1);
  return x[((image * c.height + i) * c.width + j) * c.channels + channel];
}

// Half-pixel centres: output pixel i stands at (i + 0.5) / factor - 0.5 of the image.
double bilinear(const Case& c, const Doubles& x, int64_t image, int64_t i, int64_t j,
                int64_t channel) {
  const double row = (static_cast<double>(i) + 0.5) / static_cast<double>(c.factors[0]) - 0.5;
  const double column = (static_cast<double>(j) + 0.5) / static_cast<double>(c.factors[1]) - 0.5;
  const double top = std::floor(row), left = std::floor(column);
  const auto at = [&](double down, double across) {
    return pixel(c, x, image, static_cast<int64_t>(top + down), static_cast<int64_t>(left + across),
                 channel);
  };
  const double down = row - top, across = column - left;
  return (1 - down) * ((1 - across) * at(0, 0) + across * at(0, 1)) +
         down * ((1 - across) * at(1, 0) + across * at(1, 1));
}

Doubles enlarged(const Case& c, const Doubles& x, bool smooth) {
  const int64_t height = c.height * c.factors[0], width = c.width * c.factors[1];
  Doubles y;
  for (int64_t out = 0; out < Case::kImages * height * width * c.channels; ++out) {
    const int64_t channel = out % c.channels, j = out / c.channels % width;
    const int64_t i = out / c.channels / width % height, image = out / c.channels / width / height;
    y.push_back(smooth ? bilinear(c, x, image, i, j, channel)
                       : pixel(c, x, image, i / c.factors[0], j / c.factors[1], channel));
  }
  return y;
}

TEST(Upsample2D, MatchesReference) {
  for (const Case& c : kCases) {
    for (const bool smooth : {false, true}) {
      check_op(
          {.inputs = {{DType::float32, {kRows, c.height, c.width, c.channels}}},
           .build = [&](const Values& in) { return ops::upsample2d(in[0], c.factors, smooth); },
           .reference = [&](const auto& in) { return enlarged(c, in[0], smooth); },
           .result = {kRows, c.height * c.factors[0], c.width * c.factors[1], c.channels}});
    }
  }
}

// Smaller, and by factors that are no whole numbers.
TEST(Resize2D, MatchesReference) {
  constexpr int64_t kHeight = 5, kWidth = 7, kOutHeight = 3, kOutWidth = 9;
  for (const bool smooth : {false, true}) {
    const auto reference = [&](const std::vector<Doubles>& in) {
      Doubles y;
      for (int64_t out = 0; out < 5 * kOutHeight * kOutWidth * 2; ++out) {
        const int64_t j = out / 2 % kOutWidth, i = out / 2 / kOutWidth % kOutHeight;
        const int64_t image = out / 2 / kOutWidth / kOutHeight;
        const double row = (static_cast<double>(i) + 0.5) * kHeight / kOutHeight;
        const double column = (static_cast<double>(j) + 0.5) * kWidth / kOutWidth;
        const Case c{kHeight, kWidth, 2, {1, 1}};
        if (!smooth) {
          y.push_back(pixel(c, in[0], image, static_cast<int64_t>(row),
                            static_cast<int64_t>(column), out % 2));
          continue;
        }
        const double top = std::floor(row - 0.5), left = std::floor(column - 0.5);
        const double down = row - 0.5 - top, across = column - 0.5 - left;
        const auto at = [&](int64_t a, int64_t b) {
          return pixel(c, in[0], image, static_cast<int64_t>(top) + a,
                       static_cast<int64_t>(left) + b, out % 2);
        };
        y.push_back((1 - down) * ((1 - across) * at(0, 0) + across * at(0, 1)) +
                    down * ((1 - across) * at(1, 0) + across * at(1, 1)));
      }
      return y;
    };
    check_op({.inputs = {{DType::float32, {kRows, kHeight, kWidth, 2}}},
              .build =
                  [&](const Values& in) {
                    return ops::resize2d(in[0], {kOutHeight, kOutWidth}, smooth);
                  },
              .reference = reference,
              .result = {kRows, kOutHeight, kOutWidth, 2},
              .may_hide_nan = true});
  }
}

// Large enough for a second thread.
TEST(Upsample2D, ThreadsGiveTheSameBits) {
  Graph graph;
  const Value x = graph.input("x", {DType::float32, {kRows, 20, 21, 8}});
  const Value g = graph.input("g", {DType::float32, {kRows, 40, 42, 8}});
  Values results;
  for (const bool smooth : {false, true}) {
    results.push_back(ops::upsample2d(x, {2, 2}, smooth));
    results.push_back(gradients(results.back(), g, {x})[0]);
  }
  std::vector<testing::Bytes> inputs;
  for (const Value& input : {x, g}) {
    Doubles values(input.type().at(5).shape.size());
    for (size_t i = 0; i < values.size(); ++i) values[i] = std::sin(static_cast<double>(i));
    inputs.push_back(testing::to_bytes(values, DType::float32));
  }
  const auto one = testing::run_graph(graph, results, inputs, {});
  EXPECT_EQ(testing::run_graph(graph, results, inputs, {.threads = 2}), one);
  EXPECT_EQ(testing::run_graph(graph, results, inputs, {.part_rows = 1}), one);
}

TEST(Upsample2D, HasASecondGradient) {
  Graph graph;
  const Value x = graph.input("x", {DType::float32, {kRows, 4, 4, 3}});
  const Value g = graph.input("g", {DType::float32, {kRows, 8, 8, 3}});
  const Value dx = gradients(ops::upsample2d(x, {2, 2}, true), g, {x})[0];
  EXPECT_EQ(gradients(dx, x, {g})[0].producer()->op().name(), "resize2d");
}

TEST(Upsample2D, Refuses) {
  Graph graph;
  const Value x = graph.input("x", {DType::float32, {kRows, 8, 8, 3}});
  const Value flat = graph.input("flat", {DType::float32, {kRows, 8}});
  EXPECT_EQ(error_of([&] {
              ops::upsample2d(flat, {2, 2}, false);
            }),
            "resize2d: the image must be float32 [rows, height, width, channels], got "
            "float32[rows, 8]");
  EXPECT_EQ(error_of([&] {
              ops::upsample2d(x, {2, 0}, false);
            }),
            "upsample2d: the factors are 2, 0; each must be 1 or more");
  EXPECT_EQ(error_of([&] {
              ops::upsample2d({}, {2, 2}, false);
            }),
            "upsample2d: the image is empty");
  EXPECT_EQ(error_of([&] {
              ops::resize2d(x, {0, 4}, false);
            }),
            "resize2d: the size is 0, 4; each must be 1 or more");
  EXPECT_EQ(error_of([&] { ops::resize2d({}, {2, 2}, false); }), "resize2d: the image is empty");
  EXPECT_EQ(error_of([&] {
              ops::resize2d(graph.input("none", {DType::float32, {kRows, 0, 8, 3}}), {4, 4}, true);
            }),
            "resize2d: the image must be float32 [rows, height, width, channels], got "
            "float32[rows, 0, 8, 3]");
}

}  // namespace
}  // namespace snug

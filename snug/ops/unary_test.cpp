#include <gtest/gtest.h>

#include <cmath>

#include "snug/ops/ops.h"
#include "snug/testing/check_op.h"

namespace snug {
namespace {

using testing::check_op;
using testing::Doubles;
using testing::error_of;

struct UnaryCase {
  const char* name;
  std::function<Value(Value)> build;
  double (*reference)(double);
  double low = -3, high = 3;
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double softplus(double x) { return std::log1p(std::exp(x)); }
double elu(double x) { return x > 0 ? x : std::expm1(x); }

const UnaryCase kCases[] = {
    {"negate", ops::negate, [](double x) { return -x; }},
    {"abs", ops::abs, [](double x) { return std::abs(x); }},
    {"square", ops::square, [](double x) { return x * x; }},
    {"sqrt", ops::sqrt, [](double x) { return std::sqrt(x); }, 0.1, 9},
    {"rsqrt", ops::rsqrt, [](double x) { return 1 / std::sqrt(x); }, 0.1, 9},
    {"reciprocal", ops::reciprocal, [](double x) { return 1 / x; }, 0.3, 4},
    {"exp", ops::exp, [](double x) { return std::exp(x); }},
    {"expm1", ops::expm1, [](double x) { return std::expm1(x); }},
    {"log", ops::log, [](double x) { return std::log(x); }, 0.1, 9},
    {"log1p", ops::log1p, [](double x) { return std::log1p(x); }, -0.5, 9},
    {"sign", ops::sign, [](double x) { return x > 0 ? 1.0 : -1.0; }},
    {"floor", ops::floor, [](double x) { return std::floor(x); }},
    {"sin", ops::sin, [](double x) { return std::sin(x); }},
    {"cos", ops::cos, [](double x) { return std::cos(x); }},
    {"erf", ops::erf, [](double x) { return std::erf(x); }},
    {"clip", [](Value x) { return ops::clip(x, -1, 2); },
     [](double x) { return std::clamp(x, -1.0, 2.0); }},
    {"relu", [](Value x) { return ops::relu(x); }, [](double x) { return std::max(x, 0.0); }},
    {"general_relu",
     [](Value x) {
       return ops::relu(x, {.negative_slope = 0.1f, .max_value = 2, .threshold = 0.5f});
     },
     [](double x) { return x > 0.5 ? std::min(x, 2.0) : double(0.1f) * (x - 0.5); }},
    {"leaky_relu", [](Value x) { return ops::leaky_relu(x); },
     [](double x) { return x > 0 ? x : double(0.2f) * x; }},
    {"relu6", ops::relu6, [](double x) { return std::clamp(x, 0.0, 6.0); }, -3, 9},
    {"elu", [](Value x) { return ops::elu(x); }, elu},
    {"selu", ops::selu,
     [](double x) {
       return 1.0507009873554805 * (x > 0 ? x : 1.6732632423543772 * std::expm1(x));
     }},
    {"gelu", [](Value x) { return ops::gelu(x); },
     [](double x) { return x * (1 + std::erf(x / std::sqrt(2.0))) / 2; }},
    {"gelu_tanh", [](Value x) { return ops::gelu(x, true); },
     [](double x) {
       return x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x))) / 2;
     }},
    {"silu", ops::silu, [](double x) { return x * sigmoid(x); }},
    {"sigmoid", ops::sigmoid, sigmoid},
    {"hard_sigmoid", ops::hard_sigmoid, [](double x) { return std::clamp(x + 3, 0.0, 6.0) / 6; },
     -5, 5},
    {"hard_silu", ops::hard_silu, [](double x) { return x * std::clamp(x + 3, 0.0, 6.0) / 6; }, -5,
     5},
    {"tanh", ops::tanh, [](double x) { return std::tanh(x); }},
    {"softplus", ops::softplus, softplus},
    {"softsign", ops::softsign, [](double x) { return x / (1 + std::abs(x)); }},
    {"mish", ops::mish, [](double x) { return x * std::tanh(softplus(x)); }},
    {"log_sigmoid", ops::log_sigmoid, [](double x) { return -softplus(-x); }},
    {"celu", [](Value x) { return ops::celu(x); }, elu},
    {"hard_tanh", ops::hard_tanh, [](double x) { return std::clamp(x, -1.0, 1.0); }},
    {"tanh_shrink", ops::tanh_shrink, [](double x) { return x - std::tanh(x); }},
    {"soft_shrink", [](Value x) { return ops::soft_shrink(x); },
     [](double x) { return x > 0.5    ? x - 0.5
                           : x < -0.5 ? x + 0.5
                                      : 0.0; }},
    {"hard_shrink", [](Value x) { return ops::hard_shrink(x); },
     [](double x) { return std::abs(x) > 0.5 ? x : 0.0; }},
    {"squareplus", [](Value x) { return ops::squareplus(x); },
     [](double x) { return (x + std::sqrt(x * x + 4)) / 2; }},
};

TEST(Unary, EachMatchesItsReference) {
  for (const UnaryCase& c : kCases) {
    SCOPED_TRACE(c.name);
    for (const Shape& shape : {Shape{kRows, 7}, Shape{3}, Shape{}}) {
      check_op({.inputs = {{DType::float32, shape}},
                .build = [&](const Values& in) { return c.build(in[0]); },
                .reference =
                    [&](const std::vector<Doubles>& in) {
                      Doubles y;
                      for (const double x : in[0]) y.push_back(c.reference(x));
                      return y;
                    },
                .result = shape,
                .low = c.low,
                .high = c.high});
    }
  }
}

TEST(Unary, RefusesIntegers) {
  Graph graph;
  const Value x = graph.input("x", {DType::int32, {kRows, 2}});
  EXPECT_EQ(error_of([&] { ops::exp(x); }),
            "exp: expected float32, got int32[rows, 2]; cast it first");
}

TEST(Unary, RefusesSettingsOutsideTheirRange) {
  Graph graph;
  const Value x = graph.input("x", {DType::float32, {2}});
  EXPECT_EQ(error_of([&] { ops::clip(x, 2, 1); }),
            "clip: the bounds 2 and 1 are the wrong way round; give the lower one first");
  EXPECT_EQ(error_of([&] { ops::leaky_relu(x, -1); }),
            "leaky_relu: negative_slope is -1; it must not be negative");
  EXPECT_EQ(error_of([&] { ops::relu(x, {.negative_slope = -1}); }),
            "relu: negative_slope is -1; it must not be negative");
  EXPECT_EQ(error_of([&] { ops::elu(x, -1); }), "elu: alpha is -1; it must not be negative");
  EXPECT_EQ(error_of([&] { ops::celu(x, 0); }), "celu: alpha is 0; it must be above 0");
  EXPECT_EQ(error_of([&] { ops::soft_shrink(x, -1); }),
            "soft_shrink: the threshold is -1; it must not be negative");
  EXPECT_EQ(error_of([&] { ops::hard_shrink(x, -1); }),
            "hard_shrink: the threshold is -1; it must not be negative");
  EXPECT_EQ(error_of([&] { ops::exp(Value()); }), "exp: the value is empty");
}

}  // namespace
}  // namespace snug

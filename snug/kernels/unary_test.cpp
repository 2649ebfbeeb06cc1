#include "snug/kernels/unary.h"

#include <cmath>
#include <cstring>
#include <functional>

#include "snug/kernels/test_values.h"

namespace snug::kernels {
namespace {

using Reference = std::function<double(double)>;

struct Case {
  Unary function;
  Reference reference;
  Floats parameters = {};
  double relative = 1e-6;
  double absolute = 1e-37;
  float low = -9, high = 9;    // The range of the random values.
  bool has_infinities = true;  // Whether the reference is right at the infinities.
};

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
double softplus(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }
double keep_nan(double x, double y) { return std::isnan(x) ? x : y; }
double clip(double x, double low, double high) {
  return keep_nan(x, std::min(std::max(x, low), high));
}
double gelu_tanh(double x) {
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}

std::vector<Case> mathematics() {
  return {
      {Unary::negate, [](double x) { return -x; }},
      {Unary::abs, [](double x) { return std::abs(x); }},
      {Unary::square, [](double x) { return x * x; }},
      {Unary::sqrt, [](double x) { return std::sqrt(x); }, {}, 1e-6, 2e-20, 0.01f, 9},
      {Unary::rsqrt, [](double x) { return 1 / std::sqrt(x); }, {}, 1e-6, 1e-37, 0.01f, 9},
      {Unary::reciprocal, [](double x) { return 1 / x; }, {}, 1e-6, 2e-38, 0.1f, 9},
      {Unary::exp, [](double x) { return std::exp(x); }, {}, 1e-6, 1.2e-38, -80, 80},
      {Unary::expm1, [](double x) { return std::expm1(x); }, {}, 1e-6, 1e-37, -80, 80},
      {Unary::log,
       [](double x) { return x < 1.1754944e-38 && x > 0 ? std::log(0.0) : std::log(x); },
       {},
       1e-6,
       1e-37,
       0.001f,
       100},
      {Unary::log1p, [](double x) { return std::log1p(x); }, {}, 1e-6, 1e-37, -0.99f, 100},
      {Unary::sign, [](double x) { return x > 0   ? 1
                                          : x < 0 ? -1
                                                  : x; }, {}, 1e-6, 1e-37, 0.1f, 9},
      {Unary::floor, [](double x) { return std::floor(x); }, {}, 1e-6, 1e-37, 0.1f, 0.9f},
      {Unary::sin, [](double x) { return std::sin(x); }, {}, 1e-6, 1e-7, -8000, 8000},
      {Unary::cos, [](double x) { return std::cos(x); }, {}, 1e-6, 1e-7, -8000, 8000},
      {Unary::erf, [](double x) { return std::erf(x); }, {}, 1e-6, 1e-37, -4.5f, 4.5f},
      {Unary::clip, [](double x) { return clip(x, -1.25, 2.5); }, {-1.25f, 2.5f}},
      {Unary::threshold, [](double x) { return x <= 0.75 ? -3 : x; }, {0.75f, -3.0f}},
      {Unary::squareplus,
       [](double x) { return (x + std::sqrt(x * x + 4)) / 2; },
       {4.0f},
       1e-6,
       1e-6,
       -9,
       9,
       false},
  };
}

std::vector<Case> activations() {
  const double scale = 1.0507009873554805, alpha = 1.6732632423543772;
  return {
      {Unary::relu, [](double x) { return keep_nan(x, std::max(x, 0.0)); }},
      {Unary::general_relu,
       [](double x) { return x <= 0.5 ? 0.1 * (x - 0.5) : keep_nan(x, std::min(x, 4.0)); },
       {4.0f, 0.1f, 0.5f},
       1e-6,
       1e-7},
      {Unary::general_relu, [](double x) { return x <= 1 ? 0 : x; }, {kTestInfinity, 0.0f, 1.0f}},
      {Unary::leaky_relu, [](double x) { return x > 0 ? x : 0.2f * x; }, {0.2f}},
      {Unary::relu6, [](double x) { return clip(x, 0, 6); }},
      {Unary::elu, [](double x) { return x > 0 ? x : 0.5 * std::expm1(x); }, {0.5f}},
      {Unary::selu, [=](double x) { return scale * (x > 0 ? x : alpha * std::expm1(x)); }},
      {Unary::gelu,
       [](double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); },
       {},
       2e-6,
       1e-7,
       -9,
       9,
       false},
      {Unary::gelu_tanh, gelu_tanh, {}, 2e-6, 1e-6, -9, 9, false},
      {Unary::silu, [](double x) { return x * sigmoid(x); }, {}, 1e-6, 3e-37, -9, 9, false},
      {Unary::sigmoid, sigmoid, {}, 1e-6, 1.2e-38, -80, 80},
      {Unary::hard_sigmoid, [](double x) { return clip(x + 3, 0, 6) / 6; }, {}, 1e-6, 1e-7},
      {Unary::hard_silu,
       [](double x) { return x * clip(x + 3, 0, 6) / 6; },
       {},
       1e-6,
       1e-6,
       -9,
       9,
       false},
      {Unary::tanh, [](double x) { return std::tanh(x); }},
      {Unary::softplus, softplus, {}, 1e-6, 1.2e-38},
      {Unary::softsign,
       [](double x) { return x / (1 + std::abs(x)); },
       {},
       1e-6,
       1e-37,
       -9,
       9,
       false},
      {Unary::mish,
       [](double x) { return x * std::tanh(softplus(x)); },
       {},
       2e-6,
       3e-37,
       -9,
       9,
       false},
      {Unary::log_sigmoid, [](double x) { return -softplus(-x); }, {}, 1e-6, 1.2e-38},
      {Unary::celu, [](double x) { return x > 0 ? x : 0.5 * std::expm1(x / 0.5); }, {0.5f}},
      {Unary::hard_tanh, [](double x) { return clip(x, -1, 1); }},
  };
}

std::vector<Case> shrinking() {
  return {
      {Unary::tanh_shrink, [](double x) { return x - std::tanh(x); }, {}, 1e-5, 1e-23},
      {Unary::soft_shrink,
       [](double x) { return std::abs(x) <= 0.5 ? 0 : x - std::copysign(0.5, x); },
       {0.5f}},
      {Unary::hard_shrink, [](double x) { return std::abs(x) <= 0.5 ? 0 : x; }, {0.5f}},
  };
}

std::vector<Case> cases() {
  std::vector<Case> all = mathematics();
  for (Case& activation : activations()) all.push_back(activation);
  for (Case& shrink : shrinking()) all.push_back(shrink);
  return all;
}

Floats inputs(const Case& c, int64_t n) {
  Floats x = random_values(n, c.low, c.high);
  for (size_t i = 0; i < edge_values().size() && 2 * i + 1 < x.size(); ++i) {
    x[2 * i + 1] = edge_values()[i];
    if (!c.has_infinities && std::abs(x[2 * i + 1]) > 1e10f) x[2 * i + 1] = 0.25f;
  }
  return x;
}

TEST(Unary, MeetsTheReferenceOnEveryLength) {
  for (const Case& c : cases()) {
    for (const int64_t n : kTestLengths) {
      SCOPED_TRACE(testing::Message() << "function " << static_cast<int>(c.function) << " n " << n);
      const Floats x = inputs(c, n);
      Floats y(x.size() + 1, 77.0f);
      unary_function(c.function)(x.data(), y.data(), n, c.parameters.data());
      for (size_t i = 0; i < x.size(); ++i) {
        SCOPED_TRACE(testing::Message() << "x = " << x[i]);
        expect_close(y[i], c.reference(x[i]), c.relative, c.absolute);
      }
      EXPECT_EQ(y.back(), 77.0f) << "wrote behind the end";
      Floats in_place = x;
      unary_function(c.function)(in_place.data(), in_place.data(), n, c.parameters.data());
      EXPECT_TRUE(same_bits(in_place, y, n));
      ASSERT_FALSE(testing::Test::HasFailure());
    }
  }
}

TEST(Unary, GradientMeetsCentralDifferences) {
  for (const Case& c : cases()) {
    const bool is_wave = c.function == Unary::sin || c.function == Unary::cos;
    const float low = std::max(c.low, -9.0f), high = std::min(c.high, 9.0f);
    for (const int64_t n : {int64_t{1}, int64_t{17}, int64_t{1000}}) {
      const Floats x = is_wave ? random_values(n, -20, 20) : random_values(n, low, high);
      const Floats dy = random_values(n, -3, 3, 2);
      Floats saved = x, dx(x.size());
      if (gradient_reads_output(c.function)) {
        unary_function(c.function)(x.data(), saved.data(), n, c.parameters.data());
      }
      unary_gradient_function(c.function)(saved.data(), dy.data(), dx.data(), n,
                                          c.parameters.data());
      for (size_t i = 0; i < x.size(); ++i) {
        const double h = 1e-6;
        const double slope = (c.reference(x[i] + h) - c.reference(x[i] - h)) / (2 * h);
        ASSERT_NEAR(dx[i], slope * dy[i], 3e-6 * std::abs(slope * dy[i]) + 3e-6)
            << "function " << static_cast<int>(c.function) << " at " << x[i];
      }
      unary_gradient_function(c.function)(saved.data(), dy.data(), saved.data(), n,
                                          c.parameters.data());
      EXPECT_EQ(saved, dx) << "in place, function " << static_cast<int>(c.function);
    }
  }
}

TEST(Unary, GradientOfNaNIsNaN) {
  for (const Case& c : cases()) {
    if (c.function == Unary::negate) continue;  // Does not read it.
    const Floats saved(5, kTestNaN), dy(5, 1.0f);
    Floats dx(5);
    unary_gradient_function(c.function)(saved.data(), dy.data(), dx.data(), 5, c.parameters.data());
    for (const float value : dx) {
      EXPECT_TRUE(std::isnan(value)) << "function " << static_cast<int>(c.function);
    }
  }
}

TEST(Unary, EdgesOfReluGradients) {
  const Floats x = {0.0f, -0.0f, 6.0f, 7.0f, 3.0f};
  const Floats dy(5, 2.0f);
  Floats dx(5);
  unary_gradient_function(Unary::relu)(x.data(), dy.data(), dx.data(), 5, nullptr);
  EXPECT_EQ(dx, (Floats{0, 0, 2, 2, 2}));
  unary_gradient_function(Unary::relu6)(x.data(), dy.data(), dx.data(), 5, nullptr);
  EXPECT_EQ(dx, (Floats{0, 0, 0, 0, 2}));
}

// Where it is flat, the slope is 0 and not what rounding has left, whatever alpha is.
TEST(Unary, CeluIsFlatFarBelowZero) {
  for (const float alpha : {0.1f, 0.3f, 0.7f, 1.0f, 1.3f, 7.0f, 1e-6f, 3e6f}) {
    Floats x;
    for (const float times : {0.01f, 0.5f, 1.0f, 4.0f, 9.0f, 15.0f, 20.0f, 90.0f, 1e20f})
      x.push_back(-times * alpha);
    x.push_back(-kTestInfinity);
    const auto n = static_cast<int64_t>(x.size());
    const Floats dy(x.size(), 1.0f);
    Floats y(x.size()), dx(x.size());
    unary_function(Unary::celu)(x.data(), y.data(), n, &alpha);
    unary_gradient_function(Unary::celu)(y.data(), dy.data(), dx.data(), n, &alpha);
    for (size_t i = 0; i < x.size(); ++i) {
      const double slope = std::exp(static_cast<double>(x[i]) / alpha);
      EXPECT_NEAR(dx[i], slope, 3e-7 * slope + 1.3e-7) << "alpha " << alpha << " x " << x[i];
      EXPECT_GE(dx[i], 0.0f) << "alpha " << alpha << " x " << x[i];
      if (slope >= 1e-8) continue;
      EXPECT_EQ(dx[i], 0.0f) << "alpha " << alpha << " x " << x[i];
    }
  }
}

// Every border between pieces of a function, too.
TEST(Unary, FineScansHaveNoSteps) {
  Floats x;
  for (float value = -12; value <= 12; value += 1.0f / 1024) x.push_back(value);
  Floats y(x.size());
  for (const Case& c : activations()) {
    if (c.function != Unary::gelu && c.function != Unary::gelu_tanh) continue;
    unary_function(c.function)(x.data(), y.data(), static_cast<int64_t>(x.size()), nullptr);
    for (size_t i = 0; i < x.size(); ++i) {
      SCOPED_TRACE(testing::Message() << static_cast<int>(c.function) << " x = " << x[i]);
      expect_close(y[i], c.reference(x[i]), c.relative, c.absolute);
      ASSERT_FALSE(testing::Test::HasFailure());
    }
  }
}

TEST(Unary, WideScansStayWithinAFewUnits) {
  const std::pair<Unary, double (*)(double)> functions[] = {
      {Unary::exp, std::exp}, {Unary::log, std::log},     {Unary::tanh, std::tanh},
      {Unary::erf, std::erf}, {Unary::log1p, std::log1p}, {Unary::expm1, std::expm1}};
  Floats x;
  for (uint32_t bits = 0x00800000; bits < 0x7f800000; bits += 20011) {
    float value;
    std::memcpy(&value, &bits, sizeof(value));
    x.push_back(value);
    x.push_back(-value);
  }
  Floats y(x.size());
  for (const auto& [function, reference] : functions) {
    unary_function(function)(x.data(), y.data(), static_cast<int64_t>(x.size()), nullptr);
    for (size_t i = 0; i < x.size(); ++i) {
      SCOPED_TRACE(testing::Message() << static_cast<int>(function) << " x = " << x[i]);
      expect_close(y[i], reference(x[i]), 5e-7, 1.2e-38);
      ASSERT_FALSE(testing::Test::HasFailure());
    }
  }
}

}  // namespace
}  // namespace snug::kernels

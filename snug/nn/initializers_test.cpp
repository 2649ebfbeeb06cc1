#include <gtest/gtest.h>

#include <cmath>

#include "snug/nn/initializer.h"
#include "snug/testing/check_op.h"

namespace snug::testing {
namespace {

std::vector<float> filled(const InitializerPtr& initializer, const Shape& shape, uint64_t seed = 1,
                          std::string_view path = "dense/kernel") {
  std::vector<float> values(static_cast<size_t>(shape.size()));
  initializer->fill({{DType::float32, shape}, values.data()}, seed, path);
  return values;
}

struct Moments {
  double mean = 0, deviation = 0, largest = 0;
};

Moments moments_of(const std::vector<float>& values) {
  Moments moments;
  const auto count = static_cast<double>(values.size());
  for (const float value : values) {
    moments.mean += value / count;
    moments.largest = std::max(moments.largest, std::abs(static_cast<double>(value)));
  }
  for (const float value : values)
    moments.deviation += (value - moments.mean) * (value - moments.mean) / count;
  moments.deviation = std::sqrt(moments.deviation);
  return moments;
}

TEST(Initializers, GlorotUniformCountsBothSides) {
  const Moments dense = moments_of(filled(glorot_uniform(), {200, 300}));
  const double limit = std::sqrt(6.0 / 500);
  EXPECT_LE(dense.largest, limit * 1.000001);
  EXPECT_GT(dense.largest, 0.999 * limit);
  EXPECT_NEAR(dense.deviation, limit / std::sqrt(3), 0.01 * limit);
  // Of a convolution the window counts on both sides.
  const Moments conv = moments_of(filled(glorot_uniform(), {3, 3, 40, 60}));
  EXPECT_NEAR(conv.largest, std::sqrt(6.0 / (9 * 100)), 1e-4);
}

TEST(Initializers, TruncatedNormalsHaveTheDeviationAsked) {
  const Moments he = moments_of(filled(he_normal(), {200, 300}));
  const double wanted = std::sqrt(2.0 / 200);
  EXPECT_NEAR(he.deviation, wanted, 0.02 * wanted);
  EXPECT_LE(he.largest, 2 * wanted / 0.8796 * 1.0001);
  // Keras does not correct the plain one.
  const Moments plain = moments_of(filled(truncated_normal(), {200, 300}));
  EXPECT_NEAR(plain.deviation, 0.0441, 0.0005);
  EXPECT_LE(plain.largest, 0.1 * 1.0001);
}

TEST(Initializers, DistributionsOfTheOthers) {
  EXPECT_NEAR(moments_of(filled(random_normal(1, 0.1), {300, 300})).mean, 1, 0.002);
  EXPECT_LE(moments_of(filled(random_uniform(), {300, 300})).largest, 0.05);
  const double lecun = std::sqrt(1.0 / 300);
  EXPECT_NEAR(moments_of(filled(lecun_uniform(), {300, 300})).deviation, lecun, 0.02 * lecun);
  EXPECT_EQ(filled(constant(3), {2}), (std::vector<float>{3, 3}));
  EXPECT_EQ(filled(identity(2), {2, 3}), (std::vector<float>{2, 0, 0, 0, 2, 0}));
  const double out = std::sqrt(2.0 / 300);
  EXPECT_NEAR(
      moments_of(filled(variance_scaling(2, "fan_out", "untruncated_normal"), {20, 300})).deviation,
      out, 0.03 * out);
}

// The shorter side of the matrix is orthonormal.
TEST(Initializers, OrthogonalIsOrthogonal) {
  for (const Shape& shape : {Shape{40, 24}, Shape{24, 40}, Shape{2, 12, 40}}) {
    const std::vector<float> values = filled(orthogonal(2), shape);
    const int64_t columns = shape[-1], rows = shape.size() / columns;
    const bool wide = rows < columns;
    const int64_t vectors = std::min(rows, columns), length = std::max(rows, columns);
    const auto element = [&](int64_t vector, int64_t i) {
      return static_cast<double>(wide ? values[vector * columns + i]
                                      : values[i * columns + vector]);
    };
    for (int64_t a = 0; a < vectors; ++a) {
      for (int64_t b = 0; b <= a; ++b) {
        double product = 0;
        for (int64_t i = 0; i < length; ++i) product += element(a, i) * element(b, i);
        ASSERT_NEAR(product, a == b ? 4 : 0, 2e-6) << shape.text() << " " << a << " " << b;
      }
    }
  }
}

TEST(Initializers, DependOnSeedAndPathAlone) {
  const Shape shape = {4, 5};
  EXPECT_EQ(filled(glorot_uniform(), shape), filled(glorot_uniform(), shape));
  EXPECT_NE(filled(glorot_uniform(), shape), filled(glorot_uniform(), shape, 2));
  EXPECT_NE(filled(glorot_uniform(), shape), filled(glorot_uniform(), shape, 1, "dense_1/kernel"));
}

TEST(Initializers, ByName) {
  EXPECT_EQ(make_initializer("glorot_uniform")->class_name(), "GlorotUniform");
  EXPECT_EQ(make_initializer("HeNormal")->class_name(), "HeNormal");
  EXPECT_EQ(make_initializer("uniform")->class_name(), "RandomUniform");
  EXPECT_EQ(error_of([] { make_initializer("glorot_unifrom"); }),
            "there is no initializer \"glorot_unifrom\"; did you mean \"glorot_uniform\"?");
}

TEST(Initializers, Refuse) {
  EXPECT_NE(error_of([] { filled(orthogonal(), {5}); }).find("Orthogonal"), std::string::npos);
  EXPECT_NE(error_of([] { filled(identity(), {5, 2, 2}); }).find("Identity"), std::string::npos);
  EXPECT_NE(error_of([] { variance_scaling(1, "fan_inn"); }).find("\"fan_in\""), std::string::npos);
  EXPECT_NE(error_of([] { variance_scaling(0); }).find("above 0"), std::string::npos);
}

}  // namespace
}  // namespace snug::testing

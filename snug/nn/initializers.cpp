#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numeric>

#include "snug/base/error.h"
#include "snug/base/nearest_word.h"
#include "snug/base/random.h"
#include "snug/kernels/random.h"
#include "snug/nn/initializer.h"
#include "snug/nn/orthonormal_rows.h"
#include "snug/nn/weight_words.h"

namespace snug {
namespace {

// The normal distribution cut at two deviations has this deviation.
constexpr double kDeviationOfTruncated = 0.87962566103423978;

class Constant final : public Initializer {
 public:
  Constant(std::string_view class_name, double value) : class_name_(class_name), value_(value) {}
  std::string_view class_name() const override { return class_name_; }
  void settings(SettingVisitor& visitor) override {
    if (class_name_ == "Constant") visitor.visit("value", value_);
  }
  void fill(const Tensor& tensor, uint64_t, std::string_view) const override {
    std::ranges::fill(tensor.as<float>(), static_cast<float>(value_));
  }

 private:
  std::string_view class_name_;
  double value_;
};

// Draws by the model's seed and the variable's path, or by a seed of its own alone.
class RandomInitializer : public Initializer {
 public:
  explicit RandomInitializer(std::string_view class_name) : class_name_(class_name) {}
  std::string_view class_name() const final { return class_name_; }
  void settings(SettingVisitor& visitor) override { visitor.visit("seed", seed_); }

  void fill(const Tensor& tensor, uint64_t seed, std::string_view path) const final {
    kernels::RandomRows where{.rows = 1, .columns = tensor.size()};
    where.key.seed = seed_ ? static_cast<uint64_t>(*seed_) : seed;
    where.key.stream = seed_ ? 0 : hash_text(path);
    draw(tensor, where);
  }

 protected:
  virtual void draw(const Tensor& tensor, const kernels::RandomRows& where) const = 0;

 private:
  std::string_view class_name_;
  std::optional<int64_t> seed_;
};

class Normal final : public RandomInitializer {
 public:
  Normal(std::string_view class_name, double mean, double stddev)
      : RandomInitializer(class_name), mean_(mean), stddev_(stddev) {}
  void settings(SettingVisitor& visitor) override {
    RandomInitializer::settings(visitor);
    visitor.visit("mean", mean_);
    visitor.visit("stddev", stddev_);
  }

 private:
  void draw(const Tensor& tensor, const kernels::RandomRows& where) const override {
    const auto mean = static_cast<float>(mean_), deviation = static_cast<float>(stddev_);
    float* y = tensor.as<float>().data();
    if (class_name() == "RandomNormal")
      kernels::random_normal(where, mean, deviation, y);
    else
      kernels::random_truncated_normal(where, mean, deviation, y);
  }

  double mean_, stddev_;
};

class Uniform final : public RandomInitializer {
 public:
  Uniform(double minval, double maxval)
      : RandomInitializer("RandomUniform"), minval_(minval), maxval_(maxval) {}
  void settings(SettingVisitor& visitor) override {
    RandomInitializer::settings(visitor);
    visitor.visit("minval", minval_);
    visitor.visit("maxval", maxval_);
  }

 private:
  void draw(const Tensor& tensor, const kernels::RandomRows& where) const override {
    kernels::random_uniform(where, static_cast<float>(minval_), static_cast<float>(maxval_),
                            tensor.as<float>().data());
  }

  double minval_, maxval_;
};

// How many inputs and outputs an element of the result takes part in, by Keras's rule: the last two
// axes are inputs and outputs, those before them the window.
struct Fans {
  double in = 1, out = 1;
};

Fans fans_of(const Shape& shape) {
  if (shape.rank() == 0) return {};
  if (shape.rank() == 1) return {static_cast<double>(shape[0]), static_cast<double>(shape[0])};
  const auto window = static_cast<double>(shape.part(0, shape.rank() - 2).size());
  return {window * static_cast<double>(shape[-2]), window * static_cast<double>(shape[-1])};
}

class VarianceScaling final : public RandomInitializer {
 public:
  VarianceScaling(std::string_view class_name, double scale, std::string_view mode,
                  std::string_view distribution)
      : RandomInitializer(class_name), scale_(scale), mode_(mode), distribution_(distribution) {
    check();
  }
  void settings(SettingVisitor& visitor) override {
    RandomInitializer::settings(visitor);
    if (class_name() != "VarianceScaling") return;
    visitor.visit("scale", scale_);
    visitor.visit("mode", mode_);
    visitor.visit("distribution", distribution_);
    check();
  }

 private:
  void check() const {
    constexpr std::array<std::string_view, 3> modes = {"fan_in", "fan_out", "fan_avg"};
    constexpr std::array<std::string_view, 4> distributions = {
        "truncated_normal", "untruncated_normal", "uniform", "normal"};
    if (!(scale_ > 0)) throw Error("VarianceScaling: scale is {}; it must be above 0", scale_);
    if (!std::ranges::count(modes, mode_)) {
      throw Error("VarianceScaling: there is no mode \"{}\"; {}", mode_,
                  did_you_mean(mode_, modes));
    }
    if (!std::ranges::count(distributions, distribution_)) {
      throw Error("VarianceScaling: there is no distribution \"{}\"; {}", distribution_,
                  did_you_mean(distribution_, distributions));
    }
  }

  void draw(const Tensor& tensor, const kernels::RandomRows& where) const override {
    const Fans fans = fans_of(tensor.shape());
    const double fan = mode_ == "fan_in"    ? fans.in
                       : mode_ == "fan_out" ? fans.out
                                            : (fans.in + fans.out) / 2;
    const double variance = scale_ / std::max(1.0, fan);
    float* y = tensor.as<float>().data();
    if (distribution_ == "uniform") {
      const auto limit = static_cast<float>(std::sqrt(3 * variance));
      kernels::random_uniform(where, -limit, limit, y);
    } else if (distribution_ == "untruncated_normal") {
      kernels::random_normal(where, 0, static_cast<float>(std::sqrt(variance)), y);
    } else {
      const double deviation = std::sqrt(variance) / kDeviationOfTruncated;
      kernels::random_truncated_normal(where, 0, static_cast<float>(deviation), y);
    }
  }

  double scale_;
  std::string mode_, distribution_;
};

class Orthogonal final : public RandomInitializer {
 public:
  explicit Orthogonal(double gain) : RandomInitializer("Orthogonal"), gain_(gain) {}
  void settings(SettingVisitor& visitor) override {
    RandomInitializer::settings(visitor);
    visitor.visit("gain", gain_);
  }

 private:
  // All axes but the last together are the rows of a matrix. Its shorter side is orthonormal.
  void draw(const Tensor& tensor, const kernels::RandomRows& where) const override {
    const Shape& shape = tensor.shape();
    if (shape.rank() < 2) {
      throw Error(
          "Orthogonal: a weight of shape {} has no rows and columns; use another initializer",
          shape.text());
    }
    const int64_t columns = shape[-1], rows = tensor.size() / std::max<int64_t>(columns, 1);
    const int64_t vectors = std::min(rows, columns), length = std::max(rows, columns);
    std::vector<float> drawn(static_cast<size_t>(tensor.size()));
    kernels::random_normal(where, 0, 1, drawn.data());
    make_orthonormal_rows(drawn, vectors, length);
    const std::span<float> y = tensor.as<float>();
    const auto gain = static_cast<float>(gain_);
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t column = 0; column < columns; ++column) {
        const int64_t from = rows < columns ? row * length + column : column * length + row;
        y[row * columns + column] = gain * drawn[from];
      }
    }
  }

  double gain_;
};

class IdentityMatrix final : public Initializer {
 public:
  explicit IdentityMatrix(double gain) : gain_(gain) {}
  std::string_view class_name() const override { return "Identity"; }
  void settings(SettingVisitor& visitor) override { visitor.visit("gain", gain_); }
  void fill(const Tensor& tensor, uint64_t, std::string_view) const override {
    const Shape& shape = tensor.shape();
    if (shape.rank() != 2) {
      throw Error("Identity: a weight of shape {} is no matrix; use another initializer",
                  shape.text());
    }
    const std::span<float> y = tensor.as<float>();
    std::ranges::fill(y, 0.0f);
    for (int64_t i = 0; i < std::min(shape[0], shape[1]); ++i)
      y[i * shape[1] + i] = static_cast<float>(gain_);
  }

 private:
  double gain_;
};

InitializerPtr scaled(std::string_view class_name, double scale, std::string_view mode,
                      std::string_view distribution) {
  return std::make_shared<VarianceScaling>(class_name, scale, mode, distribution);
}

struct Entry {
  std::string_view name;
  InitializerPtr (*make)();
};

constexpr std::array kEntries = std::to_array<Entry>({
    {"zeros", zeros},
    {"ones", ones},
    {"constant", [] { return constant(0); }},
    {"random_normal", [] { return random_normal(); }},
    {"random_uniform", [] { return random_uniform(); }},
    {"truncated_normal", [] { return truncated_normal(); }},
    {"variance_scaling", [] { return variance_scaling(); }},
    {"glorot_uniform", glorot_uniform},
    {"glorot_normal", glorot_normal},
    {"he_normal", he_normal},
    {"he_uniform", he_uniform},
    {"lecun_normal", lecun_normal},
    {"lecun_uniform", lecun_uniform},
    {"orthogonal", [] { return orthogonal(); }},
    {"identity", [] { return identity(); }},
    // Keras's other names for some of them.
    {"uniform", [] { return random_uniform(); }},
    {"normal", [] { return random_normal(); }},
    {"xavier_uniform", glorot_uniform},
    {"xavier_normal", glorot_normal},
    {"OrthogonalInitializer", [] { return orthogonal(); }},
    {"IdentityInitializer", [] { return identity(); }},
});

}  // namespace

InitializerPtr zeros() { return std::make_shared<Constant>("Zeros", 0); }
InitializerPtr ones() { return std::make_shared<Constant>("Ones", 1); }
InitializerPtr constant(double value) { return std::make_shared<Constant>("Constant", value); }
InitializerPtr random_normal(double mean, double stddev) {
  return std::make_shared<Normal>("RandomNormal", mean, stddev);
}
InitializerPtr random_uniform(double minval, double maxval) {
  return std::make_shared<Uniform>(minval, maxval);
}
InitializerPtr truncated_normal(double mean, double stddev) {
  return std::make_shared<Normal>("TruncatedNormal", mean, stddev);
}
InitializerPtr variance_scaling(double scale, std::string_view mode,
                                std::string_view distribution) {
  return scaled("VarianceScaling", scale, mode, distribution);
}
InitializerPtr glorot_uniform() { return scaled("GlorotUniform", 1, "fan_avg", "uniform"); }
InitializerPtr glorot_normal() { return scaled("GlorotNormal", 1, "fan_avg", "truncated_normal"); }
InitializerPtr he_normal() { return scaled("HeNormal", 2, "fan_in", "truncated_normal"); }
InitializerPtr he_uniform() { return scaled("HeUniform", 2, "fan_in", "uniform"); }
InitializerPtr lecun_normal() { return scaled("LecunNormal", 1, "fan_in", "truncated_normal"); }
InitializerPtr lecun_uniform() { return scaled("LecunUniform", 1, "fan_in", "uniform"); }
InitializerPtr orthogonal(double gain) { return std::make_shared<Orthogonal>(gain); }
InitializerPtr identity(double gain) { return std::make_shared<IdentityMatrix>(gain); }

std::vector<std::string_view> initializer_words() {
  std::vector<std::string_view> words;
  for (const Entry& entry : kEntries) words.push_back(entry.name);
  return words;
}

InitializerPtr make_initializer(std::string_view name) {
  for (const Entry& entry : kEntries) {
    if (same_word(name, entry.name)) return entry.make();
  }
  throw Error("there is no initializer \"{}\"; {}", name, did_you_mean(name, initializer_words()));
}

}  // namespace snug

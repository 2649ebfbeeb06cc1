#pragma once

#include <memory>
#include <string_view>

#include "snug/base/settings.h"
#include "snug/tensor/tensor.h"

namespace snug {

// Gives a variable its first values. They depend on the seed and the variable's path only.
class Initializer : public Configurable {
 public:
  // Fills a float32 tensor.
  virtual void fill(const Tensor& tensor, uint64_t seed, std::string_view path) const = 0;
};
using InitializerPtr = std::shared_ptr<Initializer>;

// Keras's initializers, by their Keras classes.
InitializerPtr zeros();
InitializerPtr ones();
InitializerPtr constant(double value);
InitializerPtr random_normal(double mean = 0, double stddev = 0.05);
InitializerPtr random_uniform(double minval = -0.05, double maxval = 0.05);
InitializerPtr truncated_normal(double mean = 0, double stddev = 0.05);
InitializerPtr variance_scaling(double scale = 1, std::string_view mode = "fan_in",
                                std::string_view distribution = "truncated_normal");
InitializerPtr glorot_uniform();
InitializerPtr glorot_normal();
InitializerPtr he_normal();
InitializerPtr he_uniform();
InitializerPtr lecun_normal();
InitializerPtr lecun_uniform();
InitializerPtr orthogonal(double gain = 1);
InitializerPtr identity(double gain = 1);

// By Keras's words: "glorot_uniform", "GlorotUniform", "zeros", "uniform", ... with their defaults.
// Throws Error that names the nearest right word.
InitializerPtr make_initializer(std::string_view name);

}  // namespace snug

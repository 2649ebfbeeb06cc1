#pragma once

#include <optional>
#include <span>
#include <vector>

#include "snug/nn/unary_layer.h"

namespace snug {

struct RescalingOptions {
  double offset = 0;
  std::string name;
};
// x * scale + offset: Rescaling(1.0 / 255) for images of bytes.
Layer Rescaling(double scale, const RescalingOptions& options = {});

struct NormalizationOptions {
  // The axes with a mean and variance of their own for each place; empty: one for all elements.
  std::vector<int64_t> axis = {-1};
  // In the order of the elements of these axes, or one for all; both or none. Without them, adapt()
  // takes them from data.
  std::optional<std::vector<double>> mean, variance;
  bool invert = false;  // From normalised values back.
  std::string name;
};

// (x - mean) / sqrt(variance), the deviation being at least 1e-7. Weights, where mean and variance
// are not given: mean, variance, and count, which stays 0 as in Keras.
class Normalization : public Layer {
 public:
  explicit Normalization(const NormalizationOptions& options = {});

  // Takes mean and variance from whole rows of that shape, one behind the other; forgets earlier
  // data. Throws ShapeError when they do not fit, Error when mean and variance were given or there
  // is no data.
  void adapt(std::span<const float> rows, const Shape& row) const;
  // The same from what adapt saw and these rows together: for data that comes in chunks.
  void adapt_further(std::span<const float> rows) const;
};

}  // namespace snug

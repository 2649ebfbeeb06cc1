// Layers that draw random numbers while the model trains, and pass their input on otherwise.
#pragma once

#include <optional>
#include <vector>

#include "snug/nn/unary_layer.h"

namespace snug {

struct DropoutOptions {
  // Gives the layer other draws than its path and the run's seed alone.
  std::optional<int64_t> seed;
  // One draw for all elements of an axis whose extent is 1 here; -1: as many as the input has. The
  // rows come first: {-1, 1, -1}.
  std::optional<std::vector<int64_t>> noise_shape;
  std::string name;
};
// Zero with probability `rate`; the rest is scaled by 1 / (1 - rate).
Layer Dropout(double rate, const DropoutOptions& options = {});

struct NoiseOptions {
  std::optional<int64_t> seed;
  std::string name;
};
// Drops whole channels of steps [rows, steps, channels] or images [rows, height, width, channels].
Layer SpatialDropout1D(double rate, const NoiseOptions& options = {});
Layer SpatialDropout2D(double rate, const NoiseOptions& options = {});
// Adds normal noise with mean 0.
Layer GaussianNoise(double stddev, const NoiseOptions& options = {});

}  // namespace snug

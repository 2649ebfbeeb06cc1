// Layers that prepare images [rows, height, width, channels], as Keras's: the same in training and
// at inference, or random in training and nothing at inference. What is drawn for a row depends on
// the seed, the epoch and the row's position: on no number of threads, and not on a resume.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "snug/nn/unary_layer.h"

namespace snug {

struct ResizingOptions {
  std::string interpolation = "bilinear";  // Or "nearest".
  bool crop_to_aspect_ratio = false;       // The largest window in the middle of that shape.
  bool pad_to_aspect_ratio = false;        // With a border of fill_value.
  double fill_value = 0;
  std::string name;
};
// Half-pixel centres, no antialias.
Layer Resizing(int64_t height, int64_t width, const ResizingOptions& options = {});

// The middle of the image; one that is smaller is scaled up as Resizing does with
// crop_to_aspect_ratio.
Layer CenterCrop(int64_t height, int64_t width, const LayerOptions& options = {});

struct RandomLayerOptions {
  std::optional<int64_t> seed;  // Beside the run's own.
  std::string name;
};

// `mode`: "horizontal", "vertical", or "horizontal_and_vertical": half of the images are flipped,
// with the last in both directions at once.
Layer RandomFlip(const std::string& mode = "horizontal_and_vertical",
                 const RandomLayerOptions& options = {});

// A window anywhere in the image, for each image its own (Keras: one for the batch). At inference,
// and where the image is no larger, the middle of it, as CenterCrop and Resizing would take it.
Layer RandomCrop(int64_t height, int64_t width, const RandomLayerOptions& options = {});

// From, to; a single number f stands for -f, f.
class FactorRange {
 public:
  FactorRange(double both) : values_{both} {}  // NOLINT: RandomRotation(0.1)
  FactorRange(double from, double to) : values_{from, to} {}
  const std::vector<double>& values() const { return values_; }

 private:
  std::vector<double> values_;
};

struct RandomWarpLayerOptions {
  std::string fill_mode = "reflect";       // "wrap", "constant", "nearest".
  std::string interpolation = "bilinear";  // Or "nearest".
  double fill_value = 0;
  std::optional<int64_t> seed;
  std::string name;
};
// By a share of a whole turn.
Layer RandomRotation(FactorRange factor, const RandomWarpLayerOptions& options = {});
// Shows 1 + factor times as much: above 0 zooms out. Without a width_factor the shape is kept.
Layer RandomZoom(FactorRange height_factor, std::optional<FactorRange> width_factor = {},
                 const RandomWarpLayerOptions& options = {});
// Down and to the right, by shares of the size.
Layer RandomTranslation(FactorRange height_factor, FactorRange width_factor,
                        const RandomWarpLayerOptions& options = {});

struct RandomColourOptions {
  std::array<double, 2> value_range = {0, 255};  // Results are held within it.
  std::optional<int64_t> seed;
  std::string name;
};
// (x - mean) * f + mean with the mean of each channel and f from 1 - from to 1 + to; a single
// number stands for 0 and it, as Keras 3 has it.
Layer RandomContrast(FactorRange factor, const RandomColourOptions& options = {});
// x + f times the range's width.
Layer RandomBrightness(FactorRange factor, const RandomColourOptions& options = {});

}  // namespace snug

// Layers that move elements and compute nothing.
#pragma once

#include <vector>

#include "snug/nn/size2d.h"
#include "snug/nn/unary_layer.h"

namespace snug {

// [rows, ...] -> [rows, elements].
Layer Flatten(const LayerOptions& options = {});
// [rows, ...] -> [rows, target_shape...]; one extent may be -1, for what is left.
Layer Reshape(const std::vector<int64_t>& target_shape, const LayerOptions& options = {});
// The axes behind the rows in another order; they count from 1: Permute({2, 1}) swaps two.
Layer Permute(const std::vector<int64_t>& dims, const LayerOptions& options = {});
// [rows, features] -> [rows, n, features].
Layer RepeatVector(int64_t n, const LayerOptions& options = {});

// Zeros before and after the steps, or around images.
Layer ZeroPadding1D(Sides padding = 1, const LayerOptions& options = {});
Layer ZeroPadding2D(Sides2D padding = 1, const LayerOptions& options = {});
// Steps or pixels cut off.
Layer Cropping1D(Sides cropping = 1, const LayerOptions& options = {});
Layer Cropping2D(Sides2D cropping = 0, const LayerOptions& options = {});

// Each step `size` times.
Layer UpSampling1D(int64_t size = 2, const LayerOptions& options = {});
struct UpSampling2DOptions {
  std::string interpolation = "nearest";  // Or "bilinear".
  std::string name;
};
// Each pixel size.height x size.width times, or as many pixels in between.
Layer UpSampling2D(Size2D size = 2, const UpSampling2DOptions& options = {});

}  // namespace snug

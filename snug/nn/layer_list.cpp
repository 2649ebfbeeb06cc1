#include "snug/nn/layer_list.h"

#include <array>

#include "snug/base/error.h"
#include "snug/base/nearest_word.h"
#include "snug/nn/activation_layers.h"
#include "snug/nn/convolution.h"
#include "snug/nn/dense.h"
#include "snug/nn/dropout.h"
#include "snug/nn/embedding.h"
#include "snug/nn/image_preprocessing.h"
#include "snug/nn/merging.h"
#include "snug/nn/network.h"
#include "snug/nn/normalization.h"
#include "snug/nn/pooling.h"
#include "snug/nn/preprocessing.h"
#include "snug/nn/shape_layers.h"

namespace snug {
namespace {

constexpr std::array kLayers = std::to_array<LayerEntry>({
    {"Dense", "units", [] { return Dense(0); }},
    {"Conv1D", "filters", [] { return Conv1D(0, 0); }},
    {"Conv2D", "filters", [] { return Conv2D(0, 0); }},
    {"Conv2DTranspose", "filters", [] { return Conv2DTranspose(0, 0); }},
    {"DepthwiseConv2D", "kernel_size", [] { return DepthwiseConv2D(0); }},
    {"SeparableConv2D", "filters", [] { return SeparableConv2D(0, 0); }},
    {"MaxPooling1D", "pool_size", [] { return MaxPooling1D(); }},
    {"MaxPooling2D", "pool_size", [] { return MaxPooling2D(); }},
    {"AveragePooling1D", "pool_size", [] { return AveragePooling1D(); }},
    {"AveragePooling2D", "pool_size", [] { return AveragePooling2D(); }},
    {"GlobalMaxPooling1D", "", [] { return GlobalMaxPooling1D(); }},
    {"GlobalMaxPooling2D", "", [] { return GlobalMaxPooling2D(); }},
    {"GlobalAveragePooling1D", "", [] { return GlobalAveragePooling1D(); }},
    {"GlobalAveragePooling2D", "", [] { return GlobalAveragePooling2D(); }},
    {"Flatten", "", [] { return Flatten(); }},
    {"Reshape", "target_shape", [] { return Reshape({}); }},
    {"Permute", "dims", [] { return Permute({}); }},
    {"RepeatVector", "n", [] { return RepeatVector(0); }},
    {"ZeroPadding1D", "padding", [] { return ZeroPadding1D(); }},
    {"ZeroPadding2D", "padding", [] { return ZeroPadding2D(); }},
    {"Cropping1D", "cropping", [] { return Cropping1D(); }},
    {"Cropping2D", "cropping", [] { return Cropping2D(); }},
    {"UpSampling1D", "size", [] { return UpSampling1D(); }},
    {"UpSampling2D", "size", [] { return UpSampling2D(); }},
    {"Dropout", "rate", [] { return Dropout(0); }},
    {"SpatialDropout1D", "rate", [] { return SpatialDropout1D(0); }},
    {"SpatialDropout2D", "rate", [] { return SpatialDropout2D(0); }},
    {"GaussianNoise", "stddev", [] { return GaussianNoise(0); }},
    {"Activation", "activation", [] { return Activation("linear"); }},
    {"Identity", "", [] { return Identity(); }},
    {"ReLU", "max_value", [] { return ReLU(); }},
    {"LeakyReLU", "negative_slope", [] { return LeakyReLU(); }},
    {"PReLU", "shared_axes", [] { return PReLU(); }},
    {"ELU", "alpha", [] { return ELU(); }},
    {"Softmax", "axis", [] { return Softmax(); }},
    {"BatchNormalization", "momentum", [] { return BatchNormalization(); }},
    {"LayerNormalization", "axis", [] { return LayerNormalization(); }},
    {"GroupNormalization", "groups", [] { return GroupNormalization(); }},
    {"RMSNormalization", "axis", [] { return RMSNormalization(); }},
    {"UnitNormalization", "axis", [] { return UnitNormalization(); }},
    {"Embedding", "", [] { return Embedding(0, 0); }},
    {"Add", "", [] { return Add(); }},
    {"Subtract", "", [] { return Subtract(); }},
    {"Multiply", "", [] { return Multiply(); }},
    {"Average", "", [] { return Average(); }},
    {"Maximum", "", [] { return Maximum(); }},
    {"Minimum", "", [] { return Minimum(); }},
    {"Concatenate", "axis", [] { return Concatenate(); }},
    {"Dot", "axes", [] { return Dot(-1); }},
    {"Rescaling", "scale", [] { return Rescaling(1); }},
    {"Resizing", "height", [] { return Resizing(0, 0); }},
    {"CenterCrop", "height", [] { return CenterCrop(0, 0); }},
    {"RandomCrop", "height", [] { return RandomCrop(0, 0); }},
    {"RandomFlip", "mode", [] { return RandomFlip(); }},
    {"RandomRotation", "factor", [] { return RandomRotation(0); }},
    {"RandomZoom", "height_factor", [] { return RandomZoom(0); }},
    {"RandomTranslation", "height_factor", [] { return RandomTranslation(0, 0); }},
    {"RandomContrast", "factor", [] { return RandomContrast(0); }},
    {"RandomBrightness", "factor", [] { return RandomBrightness(0); }},
    {"Normalization", "axis", []() -> Layer { return Normalization(); }},
});

constexpr auto kNames = [] {
  std::array<std::string_view, kLayers.size()> names;
  for (size_t i = 0; i < names.size(); ++i) names[i] = kLayers[i].class_name;
  return names;
}();

}  // namespace

std::span<const LayerEntry> layer_list() { return kLayers; }

const LayerEntry& find_layer(std::string_view name) {
  for (const LayerEntry& entry : kLayers) {
    if (same_word(name, entry.class_name)) return entry;
  }
  throw Error("there is no layer \"{}\"; {}", name, suggested(nearest_class(name, kNames), kNames));
}

}  // namespace snug

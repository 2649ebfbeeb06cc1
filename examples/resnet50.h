// ResNet-50 with our layers: 25.6 million parameters at 1000 classes, the stride of a stage in its
// first 3 x 3 convolution.
#pragma once

#include "snug/snug.h"

namespace snug::examples {

inline Symbol conv_norm(const Symbol& x, int64_t filters, int64_t kernel, int64_t stride) {
  const Symbol y = Conv2D(filters, {kernel, kernel},
                          {.strides = {stride, stride}, .padding = "same", .use_bias = false})(x);
  return BatchNormalization({.momentum = 0.9, .epsilon = 1e-5})(y);
}

// 1 x 1, 3 x 3, 1 x 1, and the way around them.
inline Symbol bottleneck(const Symbol& x, int64_t filters, int64_t stride, bool widens) {
  const Symbol around = widens ? conv_norm(x, 4 * filters, 1, stride) : x;
  Symbol y = ReLU()(conv_norm(x, filters, 1, 1));
  y = ReLU()(conv_norm(y, filters, 3, stride));
  return ReLU()(Add()({conv_norm(y, 4 * filters, 1, 1), around}));
}

inline Model resnet50(int64_t side = 224, int64_t classes = 1000) {
  const Symbol input = Input({side, side, 3});
  Symbol x = ReLU()(conv_norm(input, 64, 7, 2));
  x = MaxPooling2D({3, 3}, {.strides = Size2D{2, 2}, .padding = "same"})(x);
  int64_t filters = 64;
  for (const int blocks : {3, 4, 6, 3}) {
    for (int block = 0; block < blocks; ++block)
      x = bottleneck(x, filters, block == 0 && filters > 64 ? 2 : 1, block == 0);
    filters *= 2;
  }
  return Model(input, Dense(classes, "softmax")(GlobalAveragePooling2D()(x)));
}

}  // namespace snug::examples

// Writes a deep network with branches as a model file: residual_file FILE.keras BLOCKS.

#include <cstdlib>

#include "snug/nn/activation_layers.h"
#include "snug/nn/convolution.h"
#include "snug/nn/dense.h"
#include "snug/nn/merging.h"
#include "snug/nn/normalization.h"
#include "snug/nn/pooling.h"
#include "snug/train/model.h"

int main(int argc, char** argv) {
  using namespace snug;
  if (argc != 3) return 2;
  const Symbol input = Input({16, 16, 3});
  Symbol x = Conv2D(8, {3, 3}, {.padding = "same"})(input);
  for (int block = 0; block < std::atoi(argv[2]); ++block) {
    Symbol y = Conv2D(8, {3, 3}, {.padding = "same"})(x);
    y = Activation("relu")(BatchNormalization()(y));
    y = BatchNormalization()(Conv2D(8, {3, 3}, {.padding = "same"})(y));
    x = Activation("relu")(Add()({x, y}));
  }
  Model model(input, Dense(1)(GlobalAveragePooling2D()(x)));
  model.compile({.optimizer = "adam", .loss = "mse"});
  model.save(argv[1]);
  return 0;
}

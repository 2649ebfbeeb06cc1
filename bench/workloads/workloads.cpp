#include "bench/workloads/workloads.h"

#include <random>

#include "examples/resnet50.h"
#include "snug/base/error.h"
#include "snug/nn/activation_layers.h"
#include "snug/nn/convolution.h"
#include "snug/nn/dense.h"
#include "snug/nn/dropout.h"
#include "snug/nn/embedding.h"
#include "snug/nn/merging.h"
#include "snug/nn/normalization.h"
#include "snug/nn/pooling.h"
#include "snug/nn/shape_layers.h"

namespace snug::bench {
namespace {

Model stack(const std::vector<Layer>& layers) { return Sequential(layers); }

Symbol conv_norm(const Symbol& x, int64_t filters, Size2D kernel, Size2D strides) {
  const Symbol y =
      Conv2D(filters, kernel, {.strides = strides, .padding = "same", .use_bias = false})(x);
  return BatchNormalization()(y);
}

// ResNet-20: three stages of three blocks with 16, 32, 64 channels.
Model resnet20() {
  const Symbol input = Input({32, 32, 3});
  Symbol x = ReLU()(conv_norm(input, 16, {3, 3}, {1, 1}));
  for (const int64_t channels : {16, 32, 64}) {
    for (int block = 0; block < 3; ++block) {
      const bool shrinks = block == 0 && channels > 16;
      const Size2D strides = shrinks ? Size2D{2, 2} : Size2D{1, 1};
      const Symbol shortcut = shrinks ? conv_norm(x, channels, {1, 1}, strides) : x;
      const Symbol inner = ReLU()(conv_norm(x, channels, {3, 3}, strides));
      x = ReLU()(Add()({conv_norm(inner, channels, {3, 3}, {1, 1}), shortcut}));
    }
  }
  return Model(input, Dense(10, "softmax")(GlobalAveragePooling2D()(x)));
}

// 13 numbers and 26 tables of 100,000 rows.
Model embeddings() {
  const Symbol numbers = Input({13});
  Symbols inputs = {numbers}, parts = {numbers};
  for (int i = 0; i < 26; ++i) {
    inputs.push_back(Input({}, {.dtype = DType::int32}));
    parts.push_back(Embedding(100'000, 16)(inputs.back()));
  }
  const Symbol x = Dense(128, "relu")(Dense(256, "relu")(Concatenate()(parts)));
  return Model(inputs, {Dense(1, "sigmoid")(x)});
}

Symbol two_convs(Symbol x, int64_t channels) {
  for (int i = 0; i < 2; ++i)
    x = Conv2D(channels, {3, 3}, {.padding = "same", .activation = "relu"})(x);
  return x;
}

Model unet() {
  const Symbol input = Input({128, 128, 3});
  Symbol x = input;
  Symbols skips;
  for (const int64_t channels : {16, 32, 64}) {
    skips.push_back(two_convs(x, channels));
    x = MaxPooling2D()(skips.back());
  }
  x = two_convs(x, 128);
  for (const int64_t channels : {64, 32, 16}) {
    x = Conv2DTranspose(channels, {2, 2}, {.strides = {2, 2}})(x);
    x = two_convs(Concatenate()({x, skips.back()}), channels);
    skips.pop_back();
  }
  return Model(input, Conv2D(1, {1, 1}, {.activation = "sigmoid"})(x));
}

struct Inverted {
  int64_t expansion, channels, repeats, stride;
};

// MobileNetV2 with alpha 0.5 on 96 x 96.
Model mobilenet() {
  const auto relu6 = [](const Symbol& x) { return ReLU({.max_value = 6})(x); };
  const auto norm = [](const Symbol& x) { return BatchNormalization({.momentum = 0.999})(x); };
  const auto conv = [&](const Symbol& x, int64_t filters) {
    return norm(Conv2D(filters, {1, 1}, {.use_bias = false})(x));
  };
  const Symbol input = Input({96, 96, 3});
  Symbol x = relu6(
      norm(Conv2D(16, {3, 3}, {.strides = {2, 2}, .padding = "same", .use_bias = false})(input)));
  int64_t in = 16;
  for (const Inverted& stage : {Inverted{1, 8, 1, 1},
                                {6, 16, 2, 2},
                                {6, 16, 3, 2},
                                {6, 32, 4, 2},
                                {6, 48, 3, 1},
                                {6, 80, 3, 2},
                                {6, 160, 1, 1}}) {
    for (int64_t i = 0; i < stage.repeats; ++i) {
      const int64_t stride = i == 0 ? stage.stride : 1;
      Symbol y = stage.expansion == 1 ? x : relu6(conv(x, in * stage.expansion));
      y = relu6(norm(DepthwiseConv2D(
          {3, 3}, {.strides = {stride, stride}, .padding = "same", .use_bias = false})(y)));
      y = conv(y, stage.channels);
      x = stride == 1 && in == stage.channels ? Add()({x, y}) : y;
      in = stage.channels;
    }
  }
  x = GlobalAveragePooling2D()(relu6(conv(x, 1280)));
  return Model(input, Dense(10, "softmax")(x));
}

CompileOptions with(const Optimizer& optimizer, const char* loss) {
  return {.optimizer = optimizer, .loss = loss};
}

constexpr const char* kBinary = "binary_crossentropy";
constexpr const char* kClasses = "sparse_categorical_crossentropy";
using Labels = Workload::Labels;

void add_dense(std::vector<Workload>& all) {
  std::vector<Shape> tables(27, Shape{});
  tables[0] = {13};
  all.push_back({.name = "W1",
                 .batch = 32,
                 .steps = 1250,
                 .model =
                     [] {
                       return stack({Input({100}), Dense(64, "relu"), Dense(1, "sigmoid")});
                     },
                 .compile = with(Adam(), kBinary),
                 .inputs = {{100}},
                 .megaflops = 0.83});
  all.push_back({.name = "W2",
                 .batch = 10'000,
                 .steps = 3,
                 .model =
                     [] {
                       return stack({Input({1000}), Dense(1000, "relu"), Dense(1, "sigmoid")});
                     },
                 .compile = with(Adam(), kBinary),
                 .inputs = {{1000}},
                 .megaflops = 40'060});
  all.push_back({.name = "W3",
                 .batch = 64,
                 .steps = 300,
                 .model =
                     [] {
                       return stack({Input({200}), Dense(512, "relu"), Dropout(0.5),
                                     Dense(256, "relu"), Dropout(0.5), Dense(1, "sigmoid")});
                     },
                 .compile = with(Adam(), kBinary),
                 .inputs = {{200}},
                 .megaflops = 76.6});
  all.push_back({.name = "W9",
                 .batch = 1024,
                 .steps = 10,
                 .model = embeddings,
                 .compile = with(Adam(), kBinary),
                 .inputs = tables,
                 .integer_bound = 100'000,
                 .megaflops = 877});
}

void add_small_images(std::vector<Workload>& all) {
  all.push_back({.name = "W4",
                 .batch = 32,
                 .steps = 5,
                 .model =
                     [] {
                       return stack({Input({224, 224, 3}),
                                     Conv2D(32, {3, 3}, {.activation = "relu"}), MaxPooling2D(),
                                     Flatten(), Dense(10, "softmax")});
                     },
                 .compile = with(Adam(), kClasses),
                 .inputs = {{224, 224, 3}},
                 .labels = Labels::classes,
                 .classes = 10,
                 .megaflops = 6207});
  all.push_back({.name = "W5",
                 .batch = 128,
                 .steps = 20,
                 .model =
                     [] {
                       return stack({Input({28, 28, 1}), Conv2D(32, {3, 3}, {.activation = "relu"}),
                                     MaxPooling2D(), Conv2D(64, {3, 3}, {.activation = "relu"}),
                                     MaxPooling2D(), Flatten(), Dropout(0.5),
                                     Dense(10, "softmax")});
                     },
                 .compile = with(Adam(), kClasses),
                 .inputs = {{28, 28, 1}},
                 .labels = Labels::classes,
                 .classes = 10,
                 .megaflops = 1825});
}

void add_networks(std::vector<Workload>& all) {
  all.push_back({.name = "W6",
                 .batch = 128,
                 .steps = 2,
                 .model = resnet20,
                 .compile = with(SGD({.learning_rate = 0.1, .momentum = 0.9}), kClasses),
                 .inputs = {{32, 32, 3}},
                 .labels = Labels::classes,
                 .classes = 10,
                 .megaflops = 31'231});
  all.push_back({.name = "W11",
                 .batch = 8,
                 .steps = 3,
                 .model = unet,
                 .compile = with(Adam(), kBinary),
                 .inputs = {{128, 128, 3}},
                 .labels = Labels::pixels,
                 .megaflops = 27'720});
  all.push_back({.name = "resnet50",
                 .batch = 32,
                 .steps = 1,
                 .model = [] { return examples::resnet50(); },
                 .compile = with(Adam(), kClasses),
                 .inputs = {{224, 224, 3}},
                 .labels = Labels::classes,
                 .classes = 1000,
                 .megaflops = 785'000});
  all.push_back({.name = "W12",
                 .batch = 32,
                 .steps = 4,
                 .model = mobilenet,
                 .compile = with(SGD({.learning_rate = 0.01}), kClasses),
                 .inputs = {{96, 96, 3}},
                 .labels = Labels::classes,
                 .classes = 10,
                 .megaflops = 3319});
}

}  // namespace

const std::vector<Workload>& workloads() {
  static const std::vector<Workload> kWorkloads = [] {
    std::vector<Workload> all;
    add_dense(all);
    add_small_images(all);
    add_networks(all);
    return all;
  }();
  return kWorkloads;
}

const Workload& workload(std::string_view name) {
  std::string names;
  for (const Workload& w : workloads()) {
    if (w.name == name) return w;
    names += ' ' + w.name;
  }
  throw Error("no workload is called {}; there are{}", name, names);
}

WorkloadData::WorkloadData(const Workload& workload, int64_t steps, Integers integers) {
  const int64_t rows = workload.batch * steps;
  std::mt19937_64 random(0);
  std::normal_distribution<float> normal;
  data::ArraysOptions options;
  const auto shaped = [&](const Shape& row) {
    Shape shape{rows};
    for (const Extent extent : row.extents()) shape.push_back(extent);
    return shape;
  };
  for (size_t i = 0; i < workload.inputs.size(); ++i) {
    std::vector<float>& values = inputs_.emplace_back(rows * workload.inputs[i].size());
    const bool has_integers = workload.integer_bound > 0 && i > 0;
    uint64_t number = 0;
    for (float& value : values) {
      if (has_integers && integers == Integers::random) number = random();
      value = has_integers ? static_cast<float>(number++ % workload.integer_bound) : normal(random);
    }
    options.x.emplace_back(values.data(), shaped(workload.inputs[i]));
  }
  if (workload.labels == Workload::Labels::classes) {
    classes_.resize(rows);
    for (int32_t& label : classes_) label = static_cast<int32_t>(random() % workload.classes);
    options.y.emplace_back(classes_.data(), Shape{rows});
  } else {
    const Shape row = workload.labels == Workload::Labels::pixels ? Shape{128, 128, 1} : Shape{1};
    targets_.resize(rows * row.size());
    for (float& target : targets_) target = static_cast<float>(random() % 2);
    options.y.emplace_back(targets_.data(), shaped(row));
  }
  source = data::arrays(options);
}

int64_t WorkloadData::bytes() const {
  size_t bytes = classes_.size() * sizeof(int32_t) + targets_.size() * sizeof(float);
  for (const std::vector<float>& values : inputs_) bytes += values.size() * sizeof(float);
  return static_cast<int64_t>(bytes);
}

}  // namespace snug::bench

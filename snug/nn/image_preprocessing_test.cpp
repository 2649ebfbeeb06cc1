#include "snug/nn/image_preprocessing.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "snug/testing/layer_call.h"
#include "snug/testing/layer_run.h"

namespace snug::testing {
namespace {

struct Call {
  bool training = false;
  StepInfo step;
  int threads = 1;
};

// What the layer makes of 0, 1, 2, ...
Doubles on_numbers(const Layer& layer, const Shape& shape, const Call& call = {}) {
  LayerRun run(layer, {{DType::float32, shape}}, {.training = call.training, .gradients = false});
  run.prepare(call.threads);
  Doubles numbers(static_cast<size_t>(shape.size()));
  std::iota(numbers.begin(), numbers.end(), 0);
  run.give(run.inputs()[0], numbers);
  run.run(call.step);
  return run.read(run.y);
}

const std::vector<Layer>& random_layers() {
  static const std::vector<Layer> layers = {
      RandomFlip(),          RandomRotation(0.2),         RandomZoom({-0.3, 0.1}),
      RandomZoom(0.2, 0.4),  RandomTranslation(0.3, 0.2), RandomContrast(0.5),
      RandomBrightness(0.4), RandomFlip("horizontal"),    RandomCrop(6, 5)};
  return layers;
}

TEST(ImageLayers, Shapes) {
  EXPECT_EQ(result_of(Resizing(3, 7), {8, 9, 2}), (Shape{kRows, 3, 7, 2}));
  EXPECT_EQ(result_of(CenterCrop(3, 12), {8, 9, 2}), (Shape{kRows, 3, 12, 2}));
  EXPECT_EQ(result_of(RandomCrop(4, 4), {8, 9, 2}), (Shape{kRows, 4, 4, 2}));
  EXPECT_EQ(result_of(RandomRotation(0.1), {8, 9, 2}), (Shape{kRows, 8, 9, 2}));
}

TEST(ImageLayers, ResizingAndCropping) {
  EXPECT_EQ(on_numbers(Resizing(2, 2), {1, 4, 4, 1}), (Doubles{2.5, 4.5, 10.5, 12.5}));
  EXPECT_EQ(on_numbers(Resizing(2, 2, {.interpolation = "nearest"}), {1, 4, 4, 1}),
            (Doubles{5, 7, 13, 15}));
  EXPECT_EQ(on_numbers(Resizing(2, 2, {.crop_to_aspect_ratio = true}), {1, 2, 4, 1}),
            (Doubles{1, 2, 5, 6}));
  EXPECT_EQ(
      on_numbers(Resizing(4, 4, {.pad_to_aspect_ratio = true, .fill_value = -1}), {1, 2, 4, 1}),
      (Doubles{-1, -1, -1, -1, 0, 1, 2, 3, 4, 5, 6, 7, -1, -1, -1, -1}));
  EXPECT_EQ(on_numbers(CenterCrop(2, 1), {1, 4, 4, 1}), (Doubles{5, 9}));
  EXPECT_EQ(on_numbers(CenterCrop(2, 2), {1, 1, 3, 1}), (Doubles{1, 1, 1, 1}));
  EXPECT_EQ(on_numbers(RandomCrop(2, 1), {1, 4, 4, 1}), (Doubles{5, 9}));
}

TEST(ImageLayers, RandomOnesDoNothingAtInference) {
  Doubles numbers(5 * 6 * 5 * 2);
  std::iota(numbers.begin(), numbers.end(), 0);
  for (const Layer& layer : random_layers())
    EXPECT_EQ(on_numbers(layer, {5, 6, 5, 2}), numbers) << layer->class_name();
}

// Of seed, epoch and position, and of nothing else.
TEST(ImageLayers, DrawsDependOnThePositionOnly) {
  const Shape shape{16, 8, 7, 2};
  const int64_t image = 8 * 7 * 2;
  for (const Layer& layer : random_layers()) {
    SCOPED_TRACE(layer->class_name());
    const Call call{.training = true, .step = {.seed = 3, .epoch = 1, .position = 100}};
    Call threads = call, epoch = call, seed = call;
    threads.threads = 2;
    epoch.step.epoch = 2;
    seed.step.seed = 4;
    const Doubles first = on_numbers(layer, shape, call);
    EXPECT_EQ(on_numbers(layer, shape, threads), first);
    EXPECT_NE(on_numbers(layer, shape, epoch), first);
    EXPECT_NE(on_numbers(layer, shape, seed), first);
    // The same image alone, at the position that it had.
    Call alone = call;
    alone.step.position = 100;
    const Doubles one = on_numbers(layer, {1, 8, 7, 2}, alone);
    EXPECT_TRUE(std::equal(one.begin(), one.end(), first.begin()));
    EXPECT_LE(one.size(), static_cast<size_t>(image));
  }
}

TEST(ImageLayers, HalfOfTheImagesAreFlipped) {
  const Doubles turned = on_numbers(RandomFlip("horizontal"), {400, 1, 2, 1}, {.training = true});
  int flips = 0;
  for (size_t i = 0; i < turned.size(); i += 2) {
    flips += turned[i] > turned[i + 1];
    EXPECT_EQ(std::min(turned[i], turned[i + 1]), static_cast<double>(i));
  }
  EXPECT_GT(flips, 150);
  EXPECT_LT(flips, 250);
  const Doubles both = on_numbers(RandomFlip(), {50, 2, 2, 1}, {.training = true});
  for (size_t i = 0; i < both.size(); i += 4) {
    const double first = both[i] - static_cast<double>(i);
    EXPECT_TRUE(first == 0 || first == 3) << "in both directions or in none";
  }
}

TEST(ImageLayers, EveryWindowIsCut) {
  const Doubles cut = on_numbers(RandomCrop(1, 1), {600, 2, 3, 1}, {.training = true});
  std::vector<int> counts(6);
  for (size_t i = 0; i < cut.size(); ++i) ++counts[static_cast<size_t>(cut[i]) - 6 * i];
  for (const int count : counts) EXPECT_NEAR(count, 100, 40);
}

TEST(ImageLayers, ColoursStayWithinTheirRange) {
  const Call call{.training = true};
  for (const Layer& layer : {RandomBrightness(0.5, {.value_range = {2, 9}}),
                             RandomContrast(1, {.value_range = {2, 9}})}) {
    for (const double value : on_numbers(layer, {4, 2, 2, 1}, call)) {
      EXPECT_GE(value, 2);
      EXPECT_LE(value, 9);
    }
  }
  // Brightness moves all of an image alike, contrast keeps its mean.
  const Doubles light = on_numbers(RandomBrightness({0.1, 0.2}), {1, 2, 2, 1}, call);
  EXPECT_NEAR(light[3] - light[0], 3, 1e-4);
  EXPECT_GE(light[0], 25.4);
  EXPECT_LE(light[0], 51.1);
  const Doubles strong = on_numbers(RandomContrast({0.0, 0.9}), {1, 2, 2, 1}, call);
  EXPECT_GE(strong[3] - strong[0], 1.5);
}

TEST(ImageLayers, SettingsThatDoNotFitAreNamed) {
  EXPECT_EQ(error_of([] { RandomFlip("sideways"); }),
            "random_flip: mode is \"sideways\"; give \"horizontal\", \"vertical\" or "
            "\"horizontal_and_vertical\"");
  EXPECT_EQ(error_of([] { RandomRotation(1.5); }),
            "random_rotation: factor is -1.5 to 1.5; it must be within -1 to 1");
  expect_contains(error_on(Resizing(2, 2, {.interpolation = "bicubic"}), {4, 4, 1}),
                  "\"bilinear\"");
  expect_contains(error_on(Resizing(0, 2), {4, 4, 1}), "height is 0");
  expect_contains(error_on(Resizing(2, 2), {4, 4}), "[rows, height, width, channels]");
  expect_contains(error_on(RandomZoom(0.1, {}, {.fill_mode = "mirror"}), {4, 4, 1}), "reflect");
  expect_contains(
      error_on(Resizing(2, 2, {.crop_to_aspect_ratio = true, .pad_to_aspect_ratio = true}),
               {4, 4, 1}),
      "exclude one another");
}

}  // namespace
}  // namespace snug::testing

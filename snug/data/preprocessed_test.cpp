#include "snug/data/preprocessed.h"

#include <gtest/gtest.h>

#include <numeric>

#include "snug/data/arrays.h"
#include "snug/data/source_testing.h"
#include "snug/nn/dense.h"
#include "snug/nn/image_preprocessing.h"
#include "snug/nn/preprocessing.h"

namespace snug::testing {
namespace {

class PreprocessedTest : public ::testing::Test {
 protected:
  PreprocessedTest() : images(40 * 6 * 5), labels(40) {
    std::iota(images.begin(), images.end(), 0.0f);
    std::iota(labels.begin(), labels.end(), 0);
  }
  SourcePtr with(const data::PreprocessOptions& options) {
    return data::preprocessed(data::arrays(Array(images.data(), {40, 6, 5, 1}), Array(labels)),
                              options);
  }

  std::vector<float> images;
  std::vector<int32_t> labels;
};

TEST_F(PreprocessedTest, LayersWorkAsAStage) {
  const SourcePtr source = with({.layers = {Rescaling(2), CenterCrop(2, 1)}});
  EXPECT_EQ(source->fields()[0].row, (Shape{2, 1, 1}));
  EXPECT_EQ(read_rows(*source, 0, {0, 39}), (std::vector<float>{24, 34, 2364, 2374}));
  EXPECT_EQ(read_rows<int32_t>(*source, 1, {7}), (std::vector<int32_t>{7}));
  expect_random_source(*source);
}

// The same for a row in any batch, on any number of threads, and again after a restart; another in
// another pass or with another seed.
TEST_F(PreprocessedTest, DrawsDependOnSeedPassAndRow) {
  const std::vector<Layer> layers = {RandomFlip(), RandomRotation(0.2), RandomBrightness(0.3),
                                     RandomZoom(0.3)};
  std::vector<int64_t> rows(40), turned(40);
  std::iota(rows.begin(), rows.end(), 0);
  for (size_t i = 0; i < turned.size(); ++i) turned[i] = static_cast<int64_t>(i * 7 % 40);
  const SourcePtr one = with({.layers = layers, .seed = 5, .threads = 1});
  one->begin_pass(3);
  const std::vector<float> first = read_rows(*one, 0, rows);
  EXPECT_NE(first, images);
  const SourcePtr three = with({.layers = layers, .seed = 5, .threads = 3});
  three->begin_pass(3);
  const std::vector<float> again = read_rows(*three, 0, turned);
  for (size_t i = 0; i < turned.size(); ++i) {
    EXPECT_TRUE(std::equal(again.begin() + static_cast<int64_t>(i) * 30,
                           again.begin() + static_cast<int64_t>(i + 1) * 30,
                           first.begin() + turned[i] * 30));
  }
  one->begin_pass(4);
  EXPECT_NE(read_rows(*one, 0, rows), first);
  one->begin_pass(3);
  EXPECT_EQ(read_rows(*one, 0, rows), first);
  const SourcePtr other = with({.layers = layers, .seed = 6});
  other->begin_pass(3);
  EXPECT_NE(read_rows(*other, 0, rows), first);
}

TEST_F(PreprocessedTest, NothingRandomWithoutTraining) {
  const SourcePtr source = with({.layers = {RandomFlip()}, .training = false});
  EXPECT_EQ(read_rows(*source, 0, {1})[0], 30);
  EXPECT_GT(source->buffer_bytes(), 40u * 30 * 4);
}

TEST_F(PreprocessedTest, LayersThatDoNotFitAreNamed) {
  expect_within(message_of([&] { with({.layers = {CenterCrop(0, 2)}}); }), "height is 0");
}

TEST_F(PreprocessedTest, LayersThatWouldHaveToLearnAreRefused) {
  expect_within(message_of([&] {
                  with({.layers = {Rescaling(2), Dense(1)}});
                }),
                "preprocessing: Dense has to learn kernel");
  const Layer frozen = Dense(1, {.kernel_initializer = ones()});
  frozen->trainable = false;
  EXPECT_NO_THROW(with({.layers = {frozen}}));
}

}  // namespace
}  // namespace snug::testing

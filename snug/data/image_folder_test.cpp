#include "snug/data/image_folder.h"

#include <gtest/gtest.h>

#include <numeric>

#include "snug/data/batch_reader.h"
#include "snug/data/image_testing.h"
#include "snug/data/preprocessed.h"
#include "snug/data/source_testing.h"
#include "snug/nn/image_preprocessing.h"
#include "snug/testing/memory_files.h"

namespace snug::testing {
namespace {

using data::image_folder;
using data::LabelMode;

// Twelve pictures of two classes, each of one colour: 10 * its number.
class ImageFolderTest : public ::testing::Test {
 protected:
  ImageFolderTest() {
    for (int i = 0; i < 12; ++i) {
      Picture picture{6, 4 + i, 1, {}};
      picture.bytes.assign(static_cast<size_t>(picture.height * picture.width),
                           static_cast<uint8_t>(10 * i));
      put(fmt::format("f/{}/{:02}.png", i % 3 == 0 ? "cat" : "dog", i),
          png_bytes(picture, {.type = PNG_COLOR_TYPE_GRAY}));
    }
  }
  void put(const Path& path, const std::string& bytes) {
    files.create_directories(path.parent_path());
    write_text(files, path, bytes);
  }
  data::ImageFolderOptions options(LabelMode mode = LabelMode::index) {
    data::ImageFolderOptions result{.folder = "f", .label_mode = mode, .channels = 1};
    result.height = result.width = 3;
    result.files = &files;
    return result;
  }

  MemoryFiles files;
};

TEST_F(ImageFolderTest, IsARandomSource) {
  for (const int threads : {1, 2, 5}) {
    data::ImageFolderOptions with = options();
    with.threads = threads;
    const data::ImageFolder folder = image_folder(with);
    EXPECT_EQ(folder.class_names, (std::vector<std::string>{"cat", "dog"}));
    EXPECT_EQ(*folder.source->rows(), 12);
    expect_random_source(*folder.source);
    EXPECT_EQ(folder.source->place(0, 4), "f/dog/01.png");
  }
}

// Read ahead or not, on any number of threads: the same pixels, augmentation included.
TEST_F(ImageFolderTest, PicturesReadAheadAreTheSame) {
  const SourcePtr augmented = data::preprocessed(
      image_folder(options()).source, {.layers = {RandomBrightness(0.5), RandomFlip()}, .seed = 3});
  const Dataset dataset = Dataset(augmented).batch(5);
  for (const uint64_t pass : {0, 1}) {
    std::vector<int64_t> order(12);
    std::vector<float> expected, got;
    augmented->begin_pass(pass);
    std::iota(order.begin(), order.end(), 0);
    expected = read_rows(*augmented, 0, order);
    for (const int threads : {1, 3}) {
      got.clear();
      BatchReader reader(dataset, pass, threads);
      while (const Batch* batch = reader.next()) {
        const auto values = batch->x[0].as<float>();
        got.insert(got.end(), values.begin(), values.end());
      }
      EXPECT_EQ(got, expected);
    }
  }
  EXPECT_NE(augmented->batches_ahead(), 0);
  ASSERT_TRUE(augmented->twin());
}

TEST_F(ImageFolderTest, RowsHaveTheirPixelsAndLabels) {
  const SourcePtr source = image_folder(options()).source;
  const std::vector<float> pixels = read_rows(*source, 0, {5, 0, 11});
  EXPECT_EQ(std::vector<float>(pixels.begin(), pixels.begin() + 9), std::vector<float>(9, 20));
  EXPECT_EQ(pixels[9], 0);
  EXPECT_EQ(pixels[18], 110);
  EXPECT_EQ(read_rows<int32_t>(*source, 1, {5, 0, 11}), (std::vector<int32_t>{1, 0, 1}));
  const SourcePtr hot = image_folder(options(LabelMode::categorical)).source;
  EXPECT_EQ(read_rows(*hot, 1, {5, 0}), (std::vector<float>{0, 1, 1, 0}));
  const SourcePtr binary = image_folder(options(LabelMode::binary)).source;
  EXPECT_EQ(binary->fields()[1].row, Shape{1});
  EXPECT_EQ(read_rows(*binary, 1, {5, 0}), (std::vector<float>{1, 0}));
  EXPECT_EQ(image_folder(options(LabelMode::none)).source->fields().size(), 1u);
}

TEST_F(ImageFolderTest, WhatDecodingTakesIsInThePlan) {
  data::ImageFolderOptions one = options(), two = options();
  one.threads = 1;
  two.threads = 2;
  const size_t small = image_folder(one).source->buffer_bytes();
  EXPECT_GT(small, size_t{128} << 10);
  EXPECT_GT(image_folder(two).source->buffer_bytes(), small + (size_t{128} << 10));
  Picture large = smooth_picture(500, 600, 1);
  put("f/cat/large.png", png_bytes(large, {.type = PNG_COLOR_TYPE_GRAY, .interlaced = true}));
  EXPECT_GT(image_folder(one).source->buffer_bytes(), small + 500 * 600 * 4);
  one.limits.most_decoder_bytes = 1 << 20;
  expect_within(message_of<DataError>([&] { image_folder(one); }),
                "f/cat/large.png: to decode its 600 x 500 pixels takes");
}

TEST_F(ImageFolderTest, AFileThatIsNoPictureIsRefusedBeforeTheRun) {
  put("f/cat/x.gif", "GIF89a....");
  expect_within(message_of<DataError>([&] { image_folder(options()); }),
                "f/cat/x.gif: it is a GIF");
  data::ImageFolderOptions later = options();
  later.refuse_bad = false;
  const SourcePtr source = image_folder(later).source;
  EXPECT_EQ(read_rows(*source, 0, {3})[0], 90);
  expect_within(message_of<DataError>([&] { read_rows(*source, 0, {4}); }), "it is a GIF");
}

// The same whatever the threads do: of all bad rows the first that was asked for.
TEST_F(ImageFolderTest, ABadRowIsNamed) {
  const std::string cut = png_bytes(smooth_picture(6, 6, 3));
  for (const char* name : {"f/dog/20.png", "f/dog/21.png", "f/dog/22.png"}) {
    put(name, cut.substr(0, cut.size() - 30));
  }
  data::ImageFolderOptions with = options();
  with.threads = 3;
  const SourcePtr source = image_folder(with).source;
  for (int i = 0; i < 20; ++i) {
    expect_within(message_of<DataError>([&] {
                    read_rows(*source, 0, {0, 13, 12, 14});
                  }),
                  "f/dog/21.png: it is cut off");
  }
}

TEST_F(ImageFolderTest, SettingsThatDoNotFitAreNamed) {
  data::ImageFolderOptions wrong = options();
  wrong.height = 0;
  expect_within(message_of([&] { image_folder(wrong); }), "image_size is [0, 3]");
  wrong = options();
  wrong.channels = 2;
  expect_within(message_of([&] { image_folder(wrong); }), "2 channels");
  put("f/eel/a.png", png_bytes(smooth_picture(3, 3, 3)));
  expect_within(message_of([&] { image_folder(options(LabelMode::binary)); }),
                "there are 3: cat, dog, eel");
}

}  // namespace
}  // namespace snug::testing

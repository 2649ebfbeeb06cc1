#include "snug/data/text.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>

#include "snug/data/changing_files_testing.h"
#include "snug/data/gzip_testing.h"
#include "snug/data/source_testing.h"
#include "snug/testing/memory_files.h"
#include "snug/testing/temp_dir.h"

namespace snug::testing {
namespace {

class TextTest : public ::testing::Test {
 protected:
  void put(const Path& path, std::string_view content) {
    files.create_directories(path.parent_path());
    write_text(files, path, content);
  }
  data::TextOptions lines() {
    data::TextOptions options{.files = {"t.txt"}};
    options.sequence_length = 4;
    options.file_system = &files;
    return options;
  }
  static std::vector<float> row(const data::TextData& text, int64_t number) {
    return read_rows(*text.source, 0, {number});
  }

  MemoryFiles files;
};

// keras.layers.TextVectorization(output_sequence_length=4) on the same lines.
TEST_F(TextTest, WordsAreNumberedAsInKeras) {
  put("t.txt", "The cat sat.\nthe DOG, the cat's\r\n\nit sat on the mat again\n");
  const data::TextData text = data::text(lines());
  EXPECT_EQ(text.vocabulary, (std::vector<std::string>{"the", "sat", "on", "mat", "it", "dog",
                                                       "cats", "cat", "again"}));
  EXPECT_EQ(text.tokens, 11);
  EXPECT_EQ(*text.source->rows(), 4);
  EXPECT_EQ(row(text, 0), (std::vector<float>{2, 9, 3, 0}));
  EXPECT_EQ(row(text, 1), (std::vector<float>{2, 7, 2, 8}));
  EXPECT_EQ(row(text, 2), (std::vector<float>{0, 0, 0, 0}));
  EXPECT_EQ(row(text, 3), (std::vector<float>{6, 3, 4, 2}));
  expect_random_source(*text.source);
}

// They are read twice; rows that were counted and did not come would be read from nowhere.
TEST_F(TextTest, AFileThatChangesWhileItIsReadIsAnError) {
  for (const char* changed : {"one\n", "one\ntwo\nthree\nfour\n"}) {
    for (const Path& cache : {Path(), Path("cache")}) {
      put("t.txt", "one\ntwo\nthree\n");
      ChangingFiles changing(files, "t.txt", cache.empty() ? 2 : 3, changed);
      data::TextOptions options = lines();
      options.file_system = &changing;
      options.cache = cache;
      if (!cache.empty()) options.most_in_memory = 8;
      expect_within(message_of<FileError>([&] { data::text(options); }),
                    "t.txt: it was changed while it was read: it had 3 texts");
    }
  }
}

// As Notepad and Excel write them.
TEST_F(TextTest, AByteOrderMarkIsNoPartOfTheText) {
  const std::string mark = "\xef\xbb\xbf";
  put("t.txt", mark + "good\nbad\ngood\n");
  put("l.txt", mark + "1\n0\n1\n");
  data::TextOptions options = lines();
  options.labels = "l.txt";
  const data::TextData text = data::text(options);
  EXPECT_EQ(text.vocabulary, (std::vector<std::string>{"good", "bad"}));
  EXPECT_EQ(row(text, 0), row(text, 2));
  EXPECT_EQ(read_rows<int32_t>(*text.source, 1, {0, 1, 2}), (std::vector<int32_t>{1, 0, 1}));
  EXPECT_TRUE(text.class_names.empty()) << "they are numbers";
  put("l.txt", mark + "yes\nno\nyes\n");
  EXPECT_EQ(data::text(options).class_names, (std::vector<std::string>{"no", "yes"}));
  put("t.txt", mark);
  expect_within(message_of<DataError>([&] { data::text(options); }), "t.txt: it is empty");
}

TEST_F(TextTest, RareAndUnknownWordsAreOne) {
  put("t.txt", "a a a b b c\n");
  data::TextOptions few = lines();
  few.max_tokens = 4;
  const data::TextData text = data::text(few);
  EXPECT_EQ(text.vocabulary, (std::vector<std::string>{"a", "b"}));
  put("u.txt", "c b z a\n");
  data::TextOptions other = lines();
  other.files = {"u.txt"};
  other.vocabulary = &text.vocabulary;
  EXPECT_EQ(row(data::text(other), 0), (std::vector<float>{1, 3, 1, 2}));
}

TEST_F(TextTest, HashesNeedNoVocabulary) {
  put("t.txt", "one two one three four\n");
  data::TextOptions hashed = lines();
  hashed.hash_buckets = 5;
  const data::TextData text = data::text(hashed);
  EXPECT_TRUE(text.vocabulary.empty());
  const std::vector<float> numbers = row(text, 0);
  EXPECT_EQ(numbers[0], numbers[2]);
  for (const float number : numbers) {
    EXPECT_GE(number, 1);
    EXPECT_LT(number, 5);
  }
}

TEST_F(TextTest, LabelsAreNumbersOrWords) {
  put("t.txt", "a\nb\nc\n");
  put("l.txt", "pos\nneg\npos\n");
  data::TextOptions options = lines();
  options.labels = "l.txt";
  const data::TextData text = data::text(options);
  EXPECT_EQ(text.class_names, (std::vector<std::string>{"neg", "pos"}));
  EXPECT_EQ(read_rows<int32_t>(*text.source, 1, {0, 1, 2}), (std::vector<int32_t>{1, 0, 1}));
  put("l.txt", "3\n0\n12");
  EXPECT_EQ(read_rows<int32_t>(*data::text(options).source, 1, {0, 1, 2}),
            (std::vector<int32_t>{3, 0, 12}));
  put("l.txt", "3\n0\n");
  expect_within(message_of([&] { data::text(options); }), "t.txt has 3, l.txt has 2");
  put("l.txt", "3\n\n1\n");
  expect_within(message_of<DataError>([&] { data::text(options); }), "l.txt: line 2 is empty");
}

TEST_F(TextTest, LabelsKeepTheNumbersOfTheTrainingData) {
  put("t.txt", "a\nb\n");
  put("l.txt", "pos\npos\n");
  data::TextOptions options = lines();
  options.labels = "l.txt";
  options.known_classes = {"neg", "pos"};
  const data::TextData text = data::text(options);
  EXPECT_EQ(text.class_names, options.known_classes);
  EXPECT_EQ(read_rows<int32_t>(*text.source, 1, {0, 1}), (std::vector<int32_t>{1, 1}));
  put("l.txt", "pos\nposs\n");
  expect_within(message_of<DataError>([&] { data::text(options); }),
                "l.txt: line 2: \"poss\" is no class of the training data, which has neg, pos");
}

TEST_F(TextTest, FoldersAreClasses) {
  put("f/neg/1.txt", "bad\nbad film");
  put("f/pos/1.txt", "good film");
  data::TextOptions options = lines();
  options.files.clear();
  options.folder = "f";
  const data::TextData text = data::text(options);
  EXPECT_EQ(text.class_names, (std::vector<std::string>{"neg", "pos"}));
  EXPECT_EQ(text.vocabulary, (std::vector<std::string>{"film", "bad", "good"}));
  EXPECT_EQ(row(text, 0), (std::vector<float>{3, 3, 2, 0}));
  EXPECT_EQ(read_rows<int32_t>(*text.source, 1, {0, 1}), (std::vector<int32_t>{0, 1}));
}

TEST_F(TextTest, ManyRowsGoToTheCache) {
  std::string content;
  for (int i = 0; i < 100; ++i) content += "w" + std::to_string(i % 7) + " x\n";
  put("t.txt", gzipped(content));
  data::TextOptions small = lines();
  const data::TextData held = data::text(small);
  small.most_in_memory = 100;
  expect_within(message_of<DataError>([&] { data::text(small); }), "give a cache folder");
  small.cache = "cache";
  const data::TextData kept = data::text(small);
  EXPECT_EQ(files.list("cache").size(), 1u);
  for (const int64_t i : {0, 57, 99}) EXPECT_EQ(row(kept, i), row(held, i));
}

// Another word of the same length in its place.
TEST(TextFolder, TheCacheIsForOneContent) {
  const TempDir folder;
  real_files().create_directories(folder / "texts/pos");
  write_text(real_files(), folder / "texts/pos/1.txt", "good");
  const std::vector<std::string> words = {"good", "mild"};
  data::TextOptions options{.folder = folder / "texts"};
  options.sequence_length = 4;
  options.vocabulary = &words;
  options.most_in_memory = 1;
  options.cache = folder / "cache";
  EXPECT_EQ(read_rows(*data::text(options).source, 0, {0})[0], 2);
  write_text(real_files(), folder / "texts/pos/1.txt", "mild");
  std::filesystem::last_write_time(
      folder / "texts/pos/1.txt",
      std::filesystem::file_time_type::clock::now() + std::chrono::seconds(10));
  EXPECT_EQ(read_rows(*data::text(options).source, 0, {0})[0], 3);
}

TEST_F(TextTest, WhatIsWrongIsNamed) {
  put("t.txt", "");
  expect_within(message_of<DataError>([&] { data::text(lines()); }), "t.txt: it is empty");
  put("t.txt", std::string_view("ab\0c", 4));
  expect_within(message_of<DataError>([&] { data::text(lines()); }), "t.txt: byte 2 is 0");
  put("t.txt", "a\n");
  put("l.txt", std::string(100'000, 'x'));
  data::TextOptions labelled = lines();
  labelled.labels = "l.txt";
  expect_within(message_of<DataError>([&] { data::text(labelled); }),
                "l.txt: line 1 has more than 65536 bytes, but a label was expected");
  data::TextOptions wrong = lines();
  wrong.sequence_length = 0;
  expect_within(message_of([&] { data::text(wrong); }), "sequence_length is 0");
}

// Memory does not grow with the number of words.
TEST(WordCounts, ForgetsTheRarest) {
  WordCounts counts(100);
  for (int i = 0; i < 20'000; ++i) {
    counts.add("rare" + std::to_string(i));
    if (i % 3 == 0) counts.add("often");
    if (i % 5 == 0) counts.add("sometimes");
  }
  EXPECT_EQ(counts.most_frequent(2), (std::vector<std::string>{"often", "sometimes"}));
}

}  // namespace
}  // namespace snug::testing

#include "snug/data/folder_index.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "snug/data/source_testing.h"
#include "snug/testing/memory_files.h"

namespace snug::testing {
namespace {

class FolderIndexTest : public ::testing::Test {
 protected:
  void put(const Path& path) {
    files.create_directories(path.parent_path());
    write_text(files, path, "x");
  }
  FolderIndex index(FolderOptions options = {}) {
    options.folder = "f";
    options.endings = {".txt"};
    return FolderIndex(files, options);
  }
  std::vector<std::string> paths(const FolderIndex& of) {
    std::vector<std::string> all;
    for (int64_t i = 0; i < of.size(); ++i) all.push_back(of.path(i).string());
    return all;
  }

  MemoryFiles files;
};

TEST_F(FolderIndexTest, ClassesAreSubFoldersInOrder) {
  for (const char* path : {"f/dog/b.txt", "f/dog/a.TXT", "f/cat/z.txt", "f/cat/deep/y.txt",
                           "f/.hidden/h.txt", "f/readme.txt", "f/cat/notes.md"}) {
    put(path);
  }
  const FolderIndex found = index();
  EXPECT_EQ(found.class_names(), (std::vector<std::string>{"cat", "dog"}));
  EXPECT_EQ(paths(found), (std::vector<std::string>{"f/cat/z.txt", "f/cat/deep/y.txt",
                                                    "f/dog/a.TXT", "f/dog/b.txt"}));
  EXPECT_EQ(found.label(1), 0);
  EXPECT_EQ(found.label(2), 1);
  const FolderIndex turned = index({.class_names = {"dog", "cat"}});
  EXPECT_EQ(turned.path(0), "f/dog/a.TXT");
  EXPECT_EQ(turned.label(0), 0);
  EXPECT_EQ(index({.labelled = false}).size(), 6);
}

TEST_F(FolderIndexTest, AClassKeepsTheNumberThatItHasInTraining) {
  put("f/dog/a.txt");
  const FolderIndex found = index({.known_classes = {"cat", "dog"}});
  EXPECT_EQ(found.class_names(), (std::vector<std::string>{"cat", "dog"}));
  EXPECT_EQ(found.size(), 1);
  EXPECT_EQ(found.label(0), 1);
  put("f/fox/b.txt");
  EXPECT_EQ(
      message_of([&] {
        index({.known_classes = {"cat", "dog"}});
      }),
      "f: \"fox\" is no class of the training data, which has cat, dog; move the folder away");
}

// numpy.random.RandomState(7).shuffle(list(range(10))) gives 8 5 0 2 1 9 7 3 6 4.
TEST_F(FolderIndexTest, TheSplitIsTheOneOfKeras) {
  for (int i = 0; i < 10; ++i) put("f/a/" + std::to_string(i) + ".txt");
  const FolderOptions training{
      .validation_split = 0.3, .subset = FolderSubset::training, .seed = 7};
  FolderOptions validation = training;
  validation.subset = FolderSubset::validation;
  std::string order;
  for (const FolderIndex& part : {index(training), index(validation)}) {
    for (const std::string& path : paths(part)) order += path[4];
    order += '|';
  }
  EXPECT_EQ(order, "8502197|364|");
}

// A class may be a link; below it, links to folders are left alone, so that one that leads up does
// not multiply the files.
TEST_F(FolderIndexTest, LinksBelowAClassAreNotFollowed) {
  std::string made = (std::filesystem::temp_directory_path() / "snug-links-XXXXXX").string();
  ASSERT_NE(::mkdtemp(made.data()), nullptr);
  const Path folder = made;
  std::filesystem::create_directories(folder / "f/cat/deep");
  std::filesystem::create_directories(folder / "elsewhere");
  write_text(real_files(), folder / "f/cat/a.txt", "x");
  write_text(real_files(), folder / "f/cat/deep/b.txt", "x");
  write_text(real_files(), folder / "elsewhere/c.txt", "x");
  std::filesystem::create_directory_symlink("..", folder / "f/cat/deep/up");
  std::filesystem::create_directory_symlink(folder / "elsewhere", folder / "f/dog");
  const FolderIndex found(real_files(), {.folder = folder / "f", .endings = {".txt"}});
  const FolderIndex flat(real_files(),
                         {.folder = folder / "f", .endings = {".txt"}, .labelled = false});
  std::filesystem::remove_all(folder);
  EXPECT_EQ(found.class_names(), (std::vector<std::string>{"cat", "dog"}));
  EXPECT_EQ(found.size(), 3);
  EXPECT_EQ(flat.size(), 2);
}

TEST_F(FolderIndexTest, WhatIsWrongIsNamed) {
  EXPECT_THROW(index(), FileError);
  put("f/a.txt");
  expect_within(message_of([&] { index(); }), "it has no sub-folders");
  put("f/cat/a.md");
  expect_within(message_of([&] { index(); }), "no file whose name ends in .txt");
  put("f/cat/a.txt");
  expect_within(message_of([&] { index({.class_names = {"dog"}}); }), "there are cat");
  expect_within(message_of([&] { index({.validation_split = 0.5}); }), "go together");
  expect_within(
      message_of([&] { index({.validation_split = 0.5, .subset = FolderSubset::training}); }),
      "leaves no files");
}

}  // namespace
}  // namespace snug::testing

#include "snug/train/checkpoint_store.h"

#include <gtest/gtest.h>

#include "snug/base/error.h"
#include "snug/data/source_testing.h"
#include "snug/testing/faulty_file.h"
#include "snug/testing/memory_files.h"
#include "snug/testing/small_disk.h"
#include "snug/testing/temp_dir.h"
#include "snug/train/fit_testing.h"

namespace snug::testing {
namespace {

struct Store {
  std::vector<float> weights = {1, 2, 3};
  CheckpointStore store;

  explicit Store(FileSystem& files, int64_t keep = 2)
      : store({.directory = "saved", .keep = keep, .files = &files}) {}
  std::vector<CheckpointVariable> variables() {
    return {{"weights/a", {{DType::float32, {3}}, weights.data()}}};
  }
  bool save(int64_t step) { return store.save(step, {}, variables()); }
};

TEST(CheckpointStore, KeepsTheNewest) {
  MemoryFiles files;
  Store store(files, 3);
  for (const int64_t step : {9, 10, 11, 100, 99}) EXPECT_TRUE(store.save(step));
  EXPECT_EQ(store.store.newest_first(),
            (std::vector<Path>{"saved/0000000100.ckpt", "saved/0000000099.ckpt",
                               "saved/0000000011.ckpt"}));
  EXPECT_TRUE(store.store.save_best({}, store.variables()));
  EXPECT_EQ(store.store.newest_first().size(), 3) << "the best is no step";
  store.store.remove_all();
  EXPECT_TRUE(files.list("saved").empty());
}

TEST(CheckpointStore, LeavesOtherFilesAlone) {
  MemoryFiles files;
  files.create_directories("saved");
  for (const char* name : {"notes.txt", "x.ckpt", "0000000001.ckpt.old"})
    write_text(files, Path("saved") / name, "mine");
  write_text(files, "saved/0000000007.ckpt.0123456789abcdef.tmp", "half");
  Store store(files, 1);
  EXPECT_TRUE(store.save(5));
  EXPECT_TRUE(store.save(6));
  EXPECT_EQ(files.list("saved"), (std::vector<std::string>{"0000000001.ckpt.old", "0000000006.ckpt",
                                                           "notes.txt", "x.ckpt"}));
}

TEST(CheckpointStore, WarnsNowAndThenWhileTheDiskIsFull) {
  MemoryFiles disk;
  FaultyFiles files(disk);
  Store store(files);
  EXPECT_TRUE(store.save(1));
  LogText log;
  for (int i = 0; i < 12; ++i) {
    files.fail_call(2, Fault::no_space);
    EXPECT_FALSE(store.save(2 + i));
  }
  size_t warnings = 0;
  for (size_t at = log.messages.find("no checkpoint could be saved"); at != std::string::npos;
       at = log.messages.find("no checkpoint could be saved", at + 1))
    ++warnings;
  EXPECT_EQ(warnings, 2) << log.messages;
  expect_within(log.messages, "No space left on device");
  EXPECT_EQ(disk.list("saved"), std::vector<std::string>{"0000000001.ckpt"});
  EXPECT_TRUE(store.save(20));
}

TEST(CheckpointStore, RefusesADiskWithoutRoom) {
  const TempDir folder;
  CheckpointStore store({.directory = folder.path(), .keep = 3});
  EXPECT_NO_THROW(store.expect_room(1000));
  const std::string message = message_of<FileError>([&] { store.expect_room(int64_t{1} << 60); });
  expect_within(message, "4 checkpoints of");
  expect_within(message, "keep fewer");
}

// A run that goes on has its checkpoints there already: they go when new ones come.
TEST(CheckpointStore, CountsTheRoomOfThoseThatWillGo) {
  MemoryFiles inner;
  Store before(inner, 5);
  for (const int64_t step : {1, 2, 3, 4}) before.save(step);
  const int64_t bytes = inner.size("saved/0000000004.ckpt").value();
  SmallDisk files(inner, bytes);
  EXPECT_NO_THROW(Store(files, 2).store.expect_room(bytes));
  EXPECT_NO_THROW(Store(files, 4).store.expect_room(bytes));
  EXPECT_THROW(Store(files, 5).store.expect_room(bytes), FileError);
  SmallDisk fuller(inner, bytes - 1);
  EXPECT_THROW(Store(fuller, 2).store.expect_room(bytes), FileError) << "one is written first";
}

TEST(CheckpointStore, ADamagedOneIsNotAmongThoseToKeep) {
  MemoryFiles files;
  Store store(files);
  for (const int64_t step : {1, 2, 3}) store.save(step);
  write_text(files, "saved/0000000003.ckpt", "rubbish");
  LogText log;
  EXPECT_EQ(store.store.newest_good(), Path("saved/0000000002.ckpt"));
  EXPECT_EQ(files.list("saved"),
            (std::vector<std::string>{"0000000002.ckpt", "0000000003.ckpt.bad"}));
  // Two good ones stay, as was asked for.
  EXPECT_TRUE(store.save(3));
  EXPECT_EQ(files.list("saved"), (std::vector<std::string>{"0000000002.ckpt", "0000000003.ckpt",
                                                           "0000000003.ckpt.bad"}));
  store.store.remove_all();
  EXPECT_TRUE(files.list("saved").empty());
}

TEST(CheckpointStore, OneThatTheDiskDoesNotGiveIsPassedOver) {
  MemoryFiles disk;
  FaultyFiles files(disk);
  Store store(files);
  for (const int64_t step : {1, 2}) store.save(step);
  files.set_count_reads(true);
  files.fail_call(2, Fault::input_output);  // The first one lists the names.
  LogText log;
  EXPECT_EQ(store.store.newest_good(), Path("saved/0000000001.ckpt"));
  expect_within(log.messages, "it is passed over");
}

TEST(CheckpointStore, WhatCannotBeRemovedIsWarnedOf) {
  MemoryFiles disk;
  FaultyFiles files(disk);
  Store store(files);
  store.save(1);
  files.fail_call(1, Fault::input_output);
  LogText log;
  EXPECT_NO_THROW(store.store.remove_all());
  expect_within(log.messages, "could not be removed");
}

TEST(CheckpointStore, NewestGoodIsEmptyWhereAllAreDamaged) {
  MemoryFiles files;
  Store store(files);
  EXPECT_FALSE(store.store.newest_good());
  store.save(1);
  EXPECT_EQ(store.store.newest_good(), Path("saved/0000000001.ckpt"));
  write_text(files, "saved/0000000001.ckpt", "rubbish");
  LogText log;
  EXPECT_FALSE(store.store.newest_good());
  EXPECT_EQ(store.store.newest_first().size(), 1) << "or the next resume would start anew";
  expect_within(log.messages, "does not begin as a checkpoint does");
}

TEST(CheckpointOptions, MustMakeSense) {
  expect_within(message_of([] { CheckpointOptions{.every_seconds = -1}.check(); }),
                "every_seconds is -1");
  expect_within(message_of([] { CheckpointOptions{.every_steps = -2}.check(); }),
                "every_steps is -2");
  expect_within(message_of([] { CheckpointOptions{.every_epochs = -3}.check(); }),
                "every_epochs is -3");
}

}  // namespace
}  // namespace snug::testing

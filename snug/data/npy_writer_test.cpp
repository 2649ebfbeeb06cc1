#include "snug/data/npy_writer.h"

#include "snug/data/npy.h"
#include "snug/data/source_testing.h"
#include "snug/testing/faulty_file.h"
#include "snug/testing/memory_files.h"

namespace snug {
namespace {

using testing::expect_within;
using testing::MemoryFiles;
using testing::message_of;

std::vector<float> counted(int64_t count) {
  std::vector<float> values(count);
  for (int64_t i = 0; i < count; ++i) values[i] = static_cast<float>(i);
  return values;
}

std::vector<float> read_back(FileSystem& files, const Shape& row) {
  const SourcePtr source = data::npy({.x = {"y.npy"}, .files = &files});
  EXPECT_EQ(source->fields()[0].row, row);
  return testing::rest_of(*source, 0, 1000);
}

// Rows of 1 to 100,000 numbers, in pieces smaller and larger than the buffer.
TEST(NpyWriter, WritesWhatIsReadBack) {
  for (const Shape& row : {Shape{}, Shape{3}, Shape{2, 5}, Shape{100'000}}) {
    for (const int64_t batches : {0, 1, 700}) {
      if (row.size() * batches > 10'000'000) continue;
      MemoryFiles files;
      NpyWriter writer(files, "y.npy", row);
      const std::vector<float> all = counted(batches * 4 * row.size());
      for (int64_t i = 0; i < batches; ++i) {
        writer.append(std::span(all).subspan(i * 4 * row.size(), 4 * row.size()));
      }
      EXPECT_EQ(writer.rows(), batches * 4);
      EXPECT_FALSE(files.size("y.npy"));
      writer.finish();
      EXPECT_EQ(files.list(""), std::vector<std::string>{"y.npy"});
      EXPECT_EQ(read_back(files, row), all);
    }
  }
}

TEST(NpyWriter, WritesAHeaderThatNumPyKnows) {
  MemoryFiles files;
  NpyWriter writer(files, "y.npy", {2, 5});
  writer.append(counted(30));
  writer.finish();
  const std::string text = testing::read_text(files, "y.npy");
  EXPECT_EQ(text.size(), 256 + 30 * sizeof(float));
  EXPECT_EQ(text.substr(0, 10), std::string("\x93NUMPY\x01\x00\xf6\x00", 10));
  EXPECT_TRUE(text.substr(10).starts_with(
      "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2, 5), } "));
  EXPECT_EQ(text[255], '\n');
}

TEST(NpyWriter, LeavesNothingUnfinished) {
  MemoryFiles files;
  testing::write_text(files, "y.npy", "an older file");
  {
    NpyWriter writer(files, "y.npy", {2});
    writer.append(counted(4));
    expect_within(message_of([&] { writer.append(counted(3)); }),
                  "y.npy: 3 numbers are no whole rows of the shape [2]");
  }
  EXPECT_EQ(files.list(""), std::vector<std::string>{"y.npy"});
  EXPECT_EQ(testing::read_text(files, "y.npy"), "an older file");
}

// What is finished is on the disk: a crash that loses all it may loses nothing of it.
TEST(NpyWriter, SurvivesACrashOnceFinished) {
  MemoryFiles files;
  NpyWriter writer(files, "y.npy", {2});
  writer.append(counted(40'000));
  writer.finish();
  const std::unique_ptr<MemoryFiles> later = files.after_crash(0);
  EXPECT_EQ(read_back(*later, {2}), counted(40'000));
}

// After a fault at any call the old file or the new one is there, whole.
TEST(NpyWriter, SurvivesAFullDisk) {
  const auto write = [](FileSystem& files) {
    NpyWriter writer(files, "y.npy", {2});
    for (int i = 0; i < 5; ++i) writer.append(counted(10'000));
    writer.finish();
  };
  MemoryFiles whole;
  testing::FaultyFiles counting(whole);
  write(counting);
  const std::string expected = testing::read_text(whole, "y.npy");
  for (int64_t call = 1; call <= counting.calls(); ++call) {
    MemoryFiles files;
    testing::write_text(files, "y.npy", "an older file");
    testing::FaultyFiles faulty(files);
    faulty.fail_call(call, testing::Fault::no_space);
    EXPECT_THROW(write(faulty), FileError) << call;
    EXPECT_EQ(files.list(""), std::vector<std::string>{"y.npy"});
    const std::string text = testing::read_text(files, "y.npy");
    EXPECT_TRUE(text == "an older file" || text == expected) << call;
  }
}

}  // namespace
}  // namespace snug

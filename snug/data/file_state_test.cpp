#include "snug/data/file_state.h"

#include <gtest/gtest.h>

#include "snug/data/npy.h"
#include "snug/data/npy_writer.h"
#include "snug/data/source_testing.h"
#include "snug/testing/memory_files.h"
#include "snug/testing/temp_dir.h"

namespace snug::testing {
namespace {

void write_rows(const Path& path, float number) {
  NpyWriter writer(real_files(), path, {});
  for (int i = 0; i < 10; ++i) writer.append({&number, 1});
  writer.finish();
}

// The clock that files are stamped by may stand still for some milliseconds.
void stamp_later(const Path& path) {
  using std::filesystem::last_write_time;
  last_write_time(path, last_write_time(path) + std::chrono::seconds(1));
}

TEST(FileState, KnowsSizesAndWrites) {
  const TempDir folder;
  write_text(real_files(), folder / "a", "1234");
  const std::unique_ptr<File> file = real_files().open(folder / "a", OpenMode::read);
  const FileState before = state_of(*file);
  EXPECT_EQ(before.bytes, 4);
  EXPECT_GT(before.changed, 0);
  EXPECT_NO_THROW(check_unchanged(*file, before));
  stamp_later(folder / "a");
  expect_within(message_of<FileError>([&] { check_unchanged(*file, before); }),
                "a: it was written to during the run");
  real_files().open(folder / "a", OpenMode::update)->truncate(3);
  expect_within(message_of<FileError>([&] { check_unchanged(*file, before); }),
                "it had 4 bytes when it was opened and has 3 now");
}

// Rows of the same size that are other ones in the next epoch.
TEST(FileState, RowsThatAreWrittenOverAreAnError) {
  const TempDir folder;
  write_rows(folder / "x.npy", 1);
  const SourcePtr source = data::npy(folder / "x.npy");
  EXPECT_NO_THROW(source->begin_pass(1));
  const float other = 2;
  real_files()
      .open(folder / "x.npy", OpenMode::update)
      ->write_at(std::as_bytes(std::span(&other, 1)), 128);
  stamp_later(folder / "x.npy");
  const SourcePtr twin = source->twin();
  for (const SourcePtr& reader : {source, twin}) {
    expect_within(message_of<FileError>([&] { reader->begin_pass(2); }),
                  "x.npy: it was written to during the run");
  }
}

// Who puts another file in its place does no harm: the one that is open is still there.
TEST(FileState, AFileThatIsReplacedIsStillRead) {
  const TempDir folder;
  write_rows(folder / "x.npy", 1);
  const SourcePtr source = data::npy(folder / "x.npy");
  write_rows(folder / "y.npy", 2);
  stamp_later(folder / "y.npy");
  real_files().rename(folder / "y.npy", folder / "x.npy");
  source->begin_pass(1);
  EXPECT_EQ(read_rows(*source, 0, {3}), (std::vector<float>{1}));
}

}  // namespace
}  // namespace snug::testing

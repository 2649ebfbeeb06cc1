// A run that is resumed with other data than it had.
#include "snug/train/fit_data.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>

#include "snug/data/block_shuffle.h"
#include "snug/data/source_testing.h"
#include "snug/testing/resumable_run.h"
#include "snug/train/checkpoint_file.h"
#include "snug/train/checkpoint_layout.h"

namespace snug::testing {
namespace {

using Sections = std::vector<checkpoint_layout::TableEntry>;
using Edit = std::function<void(Sections&)>;

checkpoint_layout::TableEntry& named(Sections& sections, std::string_view name) {
  return *std::ranges::find(sections, name, &checkpoint_layout::TableEntry::name);
}

// A file with other sections, as other versions of Snug may write it.
void edit_sections(FileSystem& files, const std::string& path, const Edit& edit) {
  Sections table;
  const CheckpointFile file(files, path);
  for (const CheckpointFile::Section& there : file.sections())
    table.push_back({there.name, there.offset, there.bytes, there.checksum});
  edit(table);
  std::string text = read_text(files, path);
  const std::vector<std::byte> header = checkpoint_layout::header_bytes(table, text.size());
  std::memcpy(text.data(), header.data(), header.size());
  write_text(files, path, text);
}

// A run of two halves, of which the second finds what `change` has made of the rows.
std::string said_of_change(const std::function<void(Rows&)>& change, FileSystem& files) {
  Rows rows(kRowCount, 3);
  RunSetup first(files, rows);
  first.options.epochs = 1;
  first.run();
  change(rows);
  RunSetup second(files, rows);
  second.options.resume = true;
  second.options.epochs = 2;
  const LogText log;
  second.run();
  return log.messages;
}

TEST(ResumedData, WarnsOfDataThatHasChanged) {
  const auto said = [](const std::function<void(Rows&)>& change) {
    MemoryFiles files;
    return said_of_change(change, files);
  };
  EXPECT_EQ(said([](Rows&) {}).find("data"), std::string::npos);
  const std::string first = said([](Rows& rows) { rows.x[1] += 1; });
  expect_within(first,
                "the training data is not what it was when the checkpoint was written: x: row 0 "
                "has other numbers (of the 32 rows that are compared). The run goes on");
  expect_within(first, "start anew without resume");
  expect_within(said([](Rows& rows) { std::ranges::reverse(rows.y); }),
                "the training data is not what it was when the checkpoint was written: y: row 0 "
                "has other numbers, and so have ");
  expect_within(said([](Rows& rows) { rows.y[kRowCount - 1] += 1; }),
                "the validation data is not what it was when the checkpoint was written: y: row 12 "
                "has other numbers");
}

// It is of the data that the run has now.
TEST(ResumedData, WarnsOfAChangeOnce) {
  MemoryFiles files;
  const auto change = [](Rows& rows) { rows.x[1] += 1; };
  expect_within(said_of_change(change, files), "the training data is not what it was");
  Rows rows(kRowCount, 3);
  change(rows);
  RunSetup third(files, rows);
  third.options.resume = true;
  const LogText log;
  third.run();
  EXPECT_EQ(log.messages.find("data"), std::string::npos) << log.messages;
}

// What a run says that goes on from a file with other sections; it ends as ever.
std::string said_with_sections(const Edit& edit) {
  const Rows rows(kRowCount, 3);
  const Result whole = undisturbed(rows);
  MemoryFiles files;
  RunSetup first(files, rows);
  int64_t steps = 0;
  first.options.interrupted = [&] { return ++steps == 11; };
  first.run();
  std::string path;
  for (const std::string& name : files.list("saved")) path = "saved/" + name;
  EXPECT_TRUE(CheckpointFile(files, path).has("data"));
  edit_sections(files, path, edit);
  RunSetup second(files, rows);
  second.options.resume = true;
  const LogText log;
  const Result result = result_of(second, second.run());
  EXPECT_EQ(result.weights, whole.weights);
  EXPECT_EQ(result.checkpoint, whole.checkpoint);
  return log.messages;
}

TEST(ResumedData, FromACheckpointThatKnowsNothingOfItsData) {
  const std::string said = said_with_sections(
      [](Sections& sections) { named(sections, "data").name = "of another version"; });
  EXPECT_EQ(said.find("data"), std::string::npos) << said;
}

// It serves a warning only: a run that can go on does.
TEST(ResumedData, OfAnotherFormIsPassedOver) {
  expect_within(said_with_sections([](Sections& sections) {
                  auto& data = named(sections, "data");
                  data = named(sections, "machine");
                  data.name = "data";
                }),
                "the run goes on without it");
}

// Of another window a position is another row.
TEST(ResumedData, InOtherWindowsOfBlocksIsRefused) {
  const Rows rows(kRowCount, 3);
  MemoryFiles files;
  const auto run = [&](std::optional<int64_t> window_bytes, bool resume) {
    RunSetup setup(files, rows);
    SourcePtr data = rows.regression(0, 40);
    if (window_bytes) {
      data =
          data::block_shuffled(data, {.seed = 5, .window_bytes = *window_bytes, .block_bytes = 16});
    }
    setup.options.shuffle = false;
    setup.options.epochs = resume ? 2 : 1;
    setup.options.resume = resume;
    setup.model.fit(data, setup.options);
  };
  run(320, /*resume=*/false);
  expect_within(
      message_of([&] { run(160, /*resume=*/true); }),
      "resume: rows are shuffled in windows of 5 x 1 rows, but the checkpoint is of a run "
      "with windows of 10 x 1 rows");
  expect_within(message_of([&] { run({}, /*resume=*/true); }), "rows are shuffled in no windows");
  run(320, /*resume=*/true);
}

}  // namespace
}  // namespace snug::testing

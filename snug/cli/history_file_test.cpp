#include "snug/cli/history_file.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "snug/testing/faulty_file.h"
#include "snug/testing/temp_dir.h"
#include "snug/train/fit_testing.h"

namespace snug::cli {
namespace {

std::string text_of(const Path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

TEST(HistoryFile, HoldsEveryEpochAsItEnds) {
  const testing::TempDir temp;
  HistoryFile file(real_files(), temp / "history.csv");
  EpochTable epochs;
  epochs.add(0, {{"loss", 0.5}});
  file.follow(epochs);
  EXPECT_EQ(text_of(temp / "history.csv"), "epoch,loss\n0,0.5\n");
  epochs.add(1, {{"loss", 0.25}});
  file.follow(epochs);
  EXPECT_EQ(text_of(temp / "history.csv"), "epoch,loss\n0,0.5\n1,0.25\n");
}

TEST(HistoryFile, IsWrittenAnewForANewColumn) {
  const testing::TempDir temp;
  HistoryFile file(real_files(), temp / "history.csv");
  EpochTable epochs;
  epochs.add(0, {{"loss", 0.5}});
  file.follow(epochs);
  epochs.add(1, {{"loss", 0.25}, {"val_loss", 1}});
  file.follow(epochs);
  EXPECT_EQ(text_of(temp / "history.csv"), "epoch,loss,val_loss\n0,0.5,\n1,0.25,1\n");
}

// A run that was killed after its last checkpoint does some epochs again.
TEST(HistoryFile, HasNothingTwiceAfterAResume) {
  const testing::TempDir temp;
  std::ofstream(temp / "history.csv") << "epoch,loss\n0,0.5\n1,0.25\n2,0.12";
  HistoryFile file(real_files(), temp / "history.csv");
  EpochTable epochs;
  epochs.add(0, {{"loss", 0.5}});
  epochs.add(1, {{"loss", 0.25}});
  file.follow(epochs);
  EXPECT_EQ(text_of(temp / "history.csv"), "epoch,loss\n0,0.5\n1,0.25\n");
}

TEST(HistoryFile, OutlivesADiskThatFails) {
  // Whatever call fails: the run goes on, and the end has all of it.
  for (int64_t call = 1; call < 20; ++call) {
    const testing::TempDir temp;
    const testing::LogText log;
    testing::FaultyFiles faulty(real_files());
    faulty.fail_call(call, testing::Fault::no_space);
    HistoryFile file(faulty, temp / "history.csv");
    EpochTable epochs;
    for (int epoch = 0; epoch < 20; ++epoch) {
      epochs.add(epoch, {{"loss", 1.0 / (1 + epoch)}});
      file.follow(epochs);
    }
    EXPECT_NE(log.messages.find("Training goes on"), std::string::npos) << call;
    std::string expected;
    epochs.write_csv([&](std::string_view piece) { expected += piece; });
    EXPECT_EQ(text_of(temp / "history.csv"), expected) << call;
  }
}

}  // namespace
}  // namespace snug::cli

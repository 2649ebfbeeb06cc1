#include "snug/cli/epoch_table.h"

#include <gtest/gtest.h>

namespace snug::cli {
namespace {

std::string csv_of(const EpochTable& epochs) {
  std::string text;
  epochs.write_csv([&](std::string_view piece) { text += piece; });
  return text;
}

TEST(EpochTable, LeavesOutWhatAnEpochDoesNotHave) {
  EpochTable epochs;
  EXPECT_EQ(csv_of(epochs), "epoch\n");
  epochs.add(0, {{"loss", 0.5}, {"rate", 2}});
  epochs.add(1, {{"loss", 0.25}, {"val_loss", 1}});
  EXPECT_EQ(csv_of(epochs), "epoch,loss,rate,val_loss\n0,0.5,2,\n1,0.25,,1\n");
  EXPECT_EQ(epochs.last(), (Logs{{"loss", 0.25}, {"val_loss", 1}}));
}

TEST(EpochTable, KnowsTheLowest) {
  EpochTable epochs;
  EXPECT_FALSE(epochs.lowest("val_loss"));
  epochs.add(0, {{"loss", 0.5}});
  epochs.add(1, {{"loss", 0.25}, {"val_loss", 1}});
  epochs.add(2, {{"loss", 0.25}});
  epochs.add(3, {{"loss", 0.3}, {"val_loss", 2}});
  EXPECT_EQ(epochs.lowest("loss"), 2);
  EXPECT_EQ(epochs.lowest("val_loss"), 1);
}

TEST(EpochTable, KnowsWhetherALogStillFalls) {
  EpochTable table;
  table.add(0, {{"loss", 2}});
  EXPECT_TRUE(table.falls("loss"));
  table.add(1, {{"loss", 1}});
  EXPECT_TRUE(table.falls("loss"));
  table.add(2, {{"loss", 1}});
  EXPECT_FALSE(table.falls("loss"));
}

}  // namespace
}  // namespace snug::cli

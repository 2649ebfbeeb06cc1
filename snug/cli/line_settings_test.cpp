#include "snug/cli/line_settings.h"

#include <gtest/gtest.h>

#include <fstream>

#include "snug/cli/message_testing.h"
#include "snug/testing/temp_dir.h"

namespace snug::cli {
namespace {

Arguments arguments() {
  return {.command = "fit",
          .run_file = "my run.yaml",
          .settings = {{"data.train", "it's.csv", "data=it's.csv"},
                       {"fit.memory", "64MiB", "--memory 64MiB"},
                       {"fit.epochs", "3", "--epochs 3"},
                       {"name", "b", "name=b"}}};
}

TEST(LineSettings, SuggestionsHaveWhatWasGiven) {
  EXPECT_EQ(suggestion(arguments(), "plan"),
            "snug plan 'my run.yaml' 'data=it'\\''s.csv' --memory 64MiB fit.epochs=3 name=b");
  EXPECT_EQ(suggestion(arguments(), "fit", {{"fit.epochs", "6", "fit.epochs=6"}}),
            "snug fit 'my run.yaml' 'data=it'\\''s.csv' --memory 64MiB name=b fit.epochs=6");
  Arguments elsewhere = arguments();
  elsewhere.runs = "/tmp/runs";
  EXPECT_EQ(resume_suggestion(elsewhere),
            "snug fit 'my run.yaml' --runs /tmp/runs name=b --resume");
  elsewhere.run_number = 3;
  EXPECT_EQ(resume_suggestion(elsewhere),
            "snug fit 'my run.yaml' --runs /tmp/runs name=b --run 3 --resume");
}

TEST(LineSettings, SuggestionsNameTheRunWhoseModelIsUsed) {
  const Arguments given{.command = "evaluate", .run_file = "run.yaml", .run_number = 2};
  EXPECT_EQ(suggestion(given, "predict"), "snug predict run.yaml --run 2");
  // A fit begins one of its own.
  EXPECT_EQ(suggestion(given, "fit"), "snug fit run.yaml");
}

TEST(LineSettings, AreRemembered) {
  const testing::TempDir temp;
  EXPECT_TRUE(remembered_settings(temp.path()).empty());
  const std::vector<Override> given = arguments().settings;
  remember_settings(temp.path(), given);
  const std::vector<Override> read = remembered_settings(temp.path());
  ASSERT_EQ(read.size(), given.size());
  for (size_t i = 0; i < read.size(); ++i) {
    EXPECT_EQ(read[i].path, given[i].path);
    EXPECT_EQ(read[i].value, given[i].value);
    EXPECT_EQ(read[i].place, given[i].place);
  }
}

TEST(LineSettings, ADamagedFileIsNamed) {
  const testing::TempDir temp;
  std::ofstream(temp / "settings.json") << "[{\"path\": 3}]";
  EXPECT_NE(message_of([&] { remembered_settings(temp.path()); }).find("settings.json"),
            std::string::npos);
}

TEST(LineSettings, LaterOnesReplaceEarlierOnes) {
  const std::vector<Override> all =
      merged(arguments().settings, {{"fit.epochs", "9", "--epochs 9"}});
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all.back().value, "9");
}

}  // namespace
}  // namespace snug::cli

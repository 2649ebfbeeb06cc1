#include <gtest/gtest.h>

#include "snug/base/bytes.h"
#include "snug/cli/message_testing.h"
#include "snug/cli/run_file.h"
#include "snug/testing/temp_dir.h"

namespace snug::cli {
namespace {

RunFile run_with(const std::string& setting) {
  const testing::TempDir folder;
  const std::string text = "model: [{dense: 1}]\nfit: {epochs: 1" + setting + "}\n";
  real_files()
      .open(folder / "run.yaml", OpenMode::write)
      ->write_at(std::as_bytes(std::span(text)), 0);
  return read_run_file(folder / "run.yaml", {});
}

SpillOptions spill_of(const std::string& setting) { return fit_options(run_with(setting)).spill; }

// What the resolved file says of a shuffle that was said so.
TEST(FitSection, AShuffleStaysAsItWasSaid) {
  for (const std::string word : {"", "true", "false", "blocks"}) {
    const RunFile run = run_with(word.empty() ? "" : ", shuffle: " + word);
    const std::string resolved = resolved_text(run, fit_options(run), 1 << 20);
    const std::string wanted = "shuffle: " + (word.empty() ? "true" : word);
    EXPECT_NE(resolved.find(wanted), std::string::npos) << resolved;
  }
}

TEST(FitSection, SpillIsAWordAFolderOrBoth) {
  EXPECT_TRUE(spill_of("").allowed);
  EXPECT_TRUE(spill_of(", spill: true").allowed);
  EXPECT_EQ(spill_of(", spill: true").folder, Path());
  EXPECT_FALSE(spill_of(", spill: false").allowed);
  EXPECT_FALSE(spill_of(", spill: off").allowed);
  EXPECT_EQ(spill_of(", spill: /mnt/fast").folder, Path("/mnt/fast"));
  const SpillOptions both = spill_of(", spill: {folder: /mnt/fast, most: 10GiB}");
  EXPECT_EQ(both.folder, Path("/mnt/fast"));
  EXPECT_EQ(both.most_bytes, 10_GiB);
}

TEST(FitSection, AnUnknownSettingOfSpillIsNamed) {
  const std::string text = message_of([] { spill_of(", spill: {path: /mnt/fast}"); });
  EXPECT_NE(text.find("spill has no \"path\"; it has folder and most"), std::string::npos) << text;
}

TEST(FitSection, TheCrossentropyByShapeHasNoSettings) {
  const RunFile run = run_with(", loss: {crossentropy: {reduction: sum}}");
  const std::string text = message_of([&] { compile_options(run); });
  const char* wanted = "\"reduction\" is no setting of crossentropy, which has none";
  EXPECT_NE(text.find(wanted), std::string::npos) << text;
}

}  // namespace
}  // namespace snug::cli

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

// As in Keras: a list of one is one epoch, not a frequency.
TEST(FitSection, ValidatesByANumberOrAfterAList) {
  const auto epochs = [](const std::string& setting) {
    std::vector<int> included;
    const FitOptions options = fit_options(run_with(setting));
    for (int epoch = 0; epoch < 6; ++epoch)
      if (options.validation_freq.includes(epoch)) included.push_back(epoch + 1);
    return included;
  };
  EXPECT_EQ(epochs("").size(), 6u);
  EXPECT_EQ(epochs(", validation_freq: 3"), (std::vector<int>{3, 6}));
  EXPECT_EQ(epochs(", validation_freq: [3]"), (std::vector<int>{3}));
  EXPECT_EQ(epochs(", validation_freq: [1, 5]"), (std::vector<int>{1, 5}));
  const std::string text = message_of([&] { epochs(", validation_freq: 0"); });
  EXPECT_NE(text.find("whole numbers of 1 or more"), std::string::npos) << text;
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

// How the model of a file was compiled holds for what the run does not name.
TEST(FitSection, NamesWhatIsCompiledOtherwise) {
  const CompileOptions loaded{.optimizer = "adam",
                              .loss = "mae",
                              .loss_weights = {2},
                              .metrics = {"mse"},
                              .weighted_metrics = {"mape"},
                              .output_metrics = {{"msle"}}};
  const CompileOptions sgd = compile_options(run_with(", optimizer: sgd"), loaded);
  EXPECT_EQ(sgd.optimizer->class_name(), "SGD");
  EXPECT_EQ(sgd.loss.losses()[0]->class_name(), "MeanAbsoluteError");
  EXPECT_EQ(sgd.loss_weights, std::vector<double>{2});
  EXPECT_EQ(sgd.metrics[0].name(), "mse");
  EXPECT_EQ(sgd.weighted_metrics[0].name(), "mape");
  EXPECT_EQ(sgd.output_metrics.size(), 1);
  const CompileOptions measured = compile_options(run_with(", metrics: [kld, bce]"), loaded);
  EXPECT_EQ(measured.optimizer->class_name(), "Adam");
  EXPECT_EQ(measured.metrics.size(), 2);
  EXPECT_TRUE(measured.output_metrics.empty());
  const CompileOptions other = compile_options(run_with(", loss: mse"), loaded);
  EXPECT_EQ(other.loss.losses()[0]->class_name(), "MeanSquaredError");
  EXPECT_EQ(other.metrics.size(), 1);
  EXPECT_NE(message_of([] { compile_options(run_with(", optimizer: sgd")); }).find("no loss"),
            std::string::npos);
}

TEST(FitSection, TheCrossentropyByShapeHasNoSettings) {
  const RunFile run = run_with(", loss: {crossentropy: {reduction: sum}}");
  const std::string text = message_of([&] { compile_options(run); });
  const char* wanted = "\"reduction\" is no setting of crossentropy, which has none";
  EXPECT_NE(text.find(wanted), std::string::npos) << text;
}

}  // namespace
}  // namespace snug::cli

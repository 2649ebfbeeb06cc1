// A model file in the place of a run file.
#include <gtest/gtest.h>

#include "snug/cli/arguments.h"
#include "snug/cli/run_file.h"
#include "snug/nn/dense.h"
#include "snug/testing/temp_dir.h"

namespace snug::cli {
namespace {

Arguments parsed(const std::vector<std::string>& words) {
  return parse_arguments(words).arguments.value();
}

TEST(ModelFile, StandsForARunFile) {
  const testing::TempDir folder;
  const std::string path = (folder / "net.keras").string();
  Sequential({Input({2}), Dense(1)}, "net").save(path);
  const Arguments arguments =
      parsed({"fit", path, "data=train.csv", "label=y", "fit.epochs=3", "--memory", "64MiB"});
  const RunFile run = read_run_file(arguments.run_file, arguments.settings);
  EXPECT_TRUE(run.has_model_file());
  EXPECT_EQ(run.name, "net");
  EXPECT_EQ(run.section("data")->find("train")->as_text(), "train.csv");
  EXPECT_EQ(run.section("data")->find("label")->as_text(), "y");
  EXPECT_EQ(fit_options(run).epochs, 3);
  EXPECT_EQ(make_model(run).network().layers().size(), 1);
  const std::string resolved = resolved_text(run, fit_options(run), 64 << 20);
  EXPECT_NE(resolved.find("model: " + path), std::string::npos) << resolved;
}

TEST(ModelFile, MayStandInARunFile) {
  const testing::TempDir folder;
  Sequential({Input({2}), Dense(1)}, "net").save(folder / "net.h5");
  const std::string text = "model: net.h5\nfit: {loss: mse}\n";
  real_files()
      .open(folder / "run.yaml", OpenMode::write)
      ->write_at(std::as_bytes(std::span(text)), 0);
  const RunFile run = read_run_file(folder / "run.yaml", {});
  EXPECT_TRUE(run.has_model_file());
  EXPECT_EQ(make_model(run).network().name, "net");
}

TEST(ModelFile, CommandsSayWhatTheyLack) {
  EXPECT_EQ(parsed({"convert", "a.h5", "b.keras"}).output, "b.keras");
  EXPECT_EQ(parsed({"predict", "a.keras", "data.x=x.npy", "--output", "y.npy"}).output, "y.npy");
  EXPECT_EQ(parsed({"evaluate", "a.keras"}).run_file, "a.keras");
  EXPECT_THROW(parsed({"convert", "a.h5"}), Error);
  EXPECT_THROW(parsed({"convert"}), Error);
  EXPECT_THROW(parsed({"predict", "a.keras"}), Error);
  EXPECT_THROW(parsed({"evaluate"}), Error);
}

}  // namespace
}  // namespace snug::cli

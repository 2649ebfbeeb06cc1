#include "snug/cli/arguments.h"

#include <gtest/gtest.h>

#include "snug/cli/message_testing.h"

namespace snug::cli {
namespace {

using Words = std::vector<std::string>;

Arguments parse(const Words& words) { return parse_arguments(words).arguments.value(); }
std::string message(const Words& words) {
  return message_of([&] { parse_arguments(words); });
}

TEST(Arguments, ReadsACommand) {
  const Arguments fit = parse({"fit", "--memory", "256MiB", "run.yaml", "fit.epochs=3", "--json",
                               "--batch-size", "64", "--runs", "out"});
  EXPECT_EQ(fit.command, "fit");
  EXPECT_EQ(fit.run_file, "run.yaml");
  EXPECT_TRUE(fit.json);
  EXPECT_FALSE(fit.dry_run);
  EXPECT_EQ(fit.runs, "out");
  ASSERT_EQ(fit.settings.size(), 3u);
  EXPECT_EQ(fit.settings[0].path, "fit.epochs");
  EXPECT_EQ(fit.settings[0].value, "3");
  EXPECT_EQ(fit.settings[0].place, "fit.epochs=3");
  EXPECT_EQ(fit.settings[1].path, "fit.memory");
  EXPECT_EQ(fit.settings[1].place, "--memory 256MiB");
  EXPECT_EQ(fit.settings[2].path, "fit.batch_size");
  EXPECT_EQ(fit.settings[2].place, "--batch-size 64");
}

TEST(Arguments, ReadsAListOfBatchSizes) {
  EXPECT_EQ(parse({"plan", "r.yaml", "--batch-size", "32,64"}).batch_sizes,
            (std::vector<int64_t>{32, 64}));
  EXPECT_EQ(message({"plan", "r.yaml", "--batch-size", "32,x"}),
            "--batch-size 32,x: a batch size is \"x\"; it must be a whole number");
  EXPECT_EQ(message({"plan", "r.yaml", "--batch-size", "32,0"}),
            "--batch-size 32,0: a batch size is \"0\"; it must be a whole number of 1 or more");
}

TEST(Arguments, Helps) {
  for (const Words& words :
       {Words{}, Words{"--help"}, Words{"fit", "--help"}, Words{"plan", "-h"}}) {
    const ParsedArguments parsed = parse_arguments(words);
    EXPECT_FALSE(parsed.arguments);
    EXPECT_NE(parsed.text.find("snug "), std::string::npos);
  }
  EXPECT_NE(parse_arguments(Words{"fit", "--help"}).text.find("--dry-run"), std::string::npos);
  EXPECT_EQ(parse_arguments(Words{"--version"}).text, "snug " + version() + "\n");
}

TEST(Arguments, NamesWhatItDoesNotKnow) {
  EXPECT_EQ(message({"fot"}), "there is no command fot; did you mean snug fit?");
  EXPECT_EQ(message({"fit", "r.yaml", "--memmory=3"}),
            "there is no option --memmory=3; did you mean --memory?");
  EXPECT_EQ(message({"fit"}), "which run file? For example: snug fit run.yaml");
  EXPECT_EQ(message({"fit", "r.yaml", "b"}),
            "b: what is it? A setting has the form path=value, such as fit.epochs=3");
  EXPECT_EQ(message({"evaluate", "r.yaml", "/"}),
            "/: a folder of pictures is given as data.train.image_folder=/, of texts as "
            "data.train.text_folder=/");
  EXPECT_EQ(message({"fit", "r.yaml", "epochs=3"}),
            "epochs=3: a setting begins with its section: fit.epochs=3");
  EXPECT_NE(message({"fit", "r.yaml", "--memory"}).find("--memory"), std::string::npos);
}

}  // namespace
}  // namespace snug::cli

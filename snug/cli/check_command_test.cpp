#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "snug/cli/command.h"
#include "snug/data/npy_writer.h"
#include "snug/data/source_testing.h"
#include "snug/testing/memory_files.h"
#include "snug/testing/temp_dir.h"

namespace snug::cli {
namespace {

using testing::expect_within;
using testing::write_text;

class CheckCommand : public ::testing::Test {
 protected:
  // What it prints, after its exit code: "4: ...".
  std::string check(const std::string& file, bool json = false, const std::string& label = "") {
    Arguments arguments{.command = "check",
                        .run_file = (folder_ / file).string(),
                        .label = label,
                        .runs = folder_ / "runs"};
    arguments.json = json;
    ::testing::internal::CaptureStdout();
    const int exit = check_command(arguments);
    std::fflush(stdout);
    return fmt::format("{}: {}", exit, ::testing::internal::GetCapturedStdout());
  }

  testing::TempDir folder_;
};

TEST_F(CheckCommand, Tables) {
  write_text(real_files(), folder_ / "t.csv", "a,y\n1,no\n2,yes\n3,no\n4,yes\n5,no\n6,yes\n");
  const std::string clean = check("t.csv");
  EXPECT_TRUE(clean.starts_with("0: ")) << clean;
  expect_within(clean, "6 rows, 2 columns");
  expect_within(clean, "1 to 6, mean 3.5");
  expect_within(clean, "Nothing is wrong");
  write_text(real_files(), folder_ / "t.csv", "a,y\n1,no\nx,yes\n3,no\n4\n");
  const std::string dirty = check("t.csv");
  EXPECT_TRUE(dirty.starts_with("4: ")) << dirty;
  expect_within(dirty, "Bad rows: 2");
  expect_within(dirty, "line 3, column a is \"x\"");
  const std::string json = check("t.csv", /*json=*/true);
  expect_within(json, "\"exit\":4");
  expect_within(json, "\"bad_rows\":2");
  expect_within(json, "\"counts\":{\"no\":2,\"yes\":1}");
}

TEST_F(CheckCommand, Arrays) {
  {
    NpyWriter writer(real_files(), folder_ / "x.npy", Shape{2});
    const std::vector<float> values = {1, 2, 3, NAN, 5, 6};
    writer.append(values);
    writer.finish();
  }
  const std::string text = check("x.npy");
  EXPECT_TRUE(text.starts_with("4: ")) << text;
  expect_within(text, "3 rows of float32[2]");
  expect_within(text, "1 to 6, mean 3.5");
  expect_within(text, "row 1: column 1 is nan, but a finite number was expected");
  expect_within(check("x.npy", /*json=*/true), "\"bad_rows\":1");
}

TEST_F(CheckCommand, RecordsNeedARun) {
  write_text(real_files(), folder_ / "t.tfrecord", "no record");
  const Arguments arguments{.command = "check", .run_file = (folder_ / "t.tfrecord").string()};
  expect_within(testing::message_of([&] { check_command(arguments); }), "Give --against run.yaml");
}

}  // namespace
}  // namespace snug::cli

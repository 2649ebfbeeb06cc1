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
  expect_within(dirty, "Bad rows: 2 of 4");
  expect_within(dirty, "they are too many to be left out");
  expect_within(dirty, "line 3, column a is \"x\"");
  const std::string json = check("t.csv", /*json=*/true);
  expect_within(json, "\"exit\":4");
  expect_within(json, "\"bad_rows\":2");
  expect_within(json, "\"counts\":{\"no\":2,\"yes\":1}");
}

// A person reads what is wrong, and how often, before the rows themselves.
TEST_F(CheckCommand, ManyBadRowsAreToldByKind) {
  std::string text = "age,city,y\n";
  for (int i = 0; i < 200; ++i)
    text += fmt::format("{},{},{}\n", i % 40 == 7 ? "unknown" : std::to_string(i % 30),
                        i % 3 == 0 ? "Rome" : "Bonn", i % 2);
  write_text(real_files(), folder_ / "t.csv", text);
  const std::string cells = check("t.csv", /*json=*/false, "y");
  expect_within(cells, "Bad rows: 5 of 200");
  expect_within(cells,
                "5 x column age is \"unknown\", but a number was expected; the first: line 9");
  expect_within(cells, "{on_bad_row: impute}");
  expect_within(cells, "{on_bad_row: quarantine}");
  write_text(real_files(), folder_ / "t.csv", text + "1,Bonn\n");
  const std::string rows = check("t.csv", /*json=*/false, "y");
  expect_within(rows, "1 x it has 2 cells, but 3 were expected");
  EXPECT_EQ(rows.find("impute"), std::string::npos) << rows;
  expect_within(check("t.csv", /*json=*/true, "y"), "\"kinds\":[{\"rows\":5,");
}

TEST_F(CheckCommand, SeveralFilesAreOneTable) {
  write_text(real_files(), folder_ / "a.csv", "a,y\n1,no\n2,yes\n");
  write_text(real_files(), folder_ / "b.csv", "a,y\n3,no\nx,yes\n");
  Arguments arguments{.command = "check",
                      .run_file = (folder_ / "a.csv").string(),
                      .files = {(folder_ / "b.csv").string()}};
  ::testing::internal::CaptureStdout();
  EXPECT_EQ(check_command(arguments), 4);
  std::fflush(stdout);
  const std::string text = ::testing::internal::GetCapturedStdout();
  expect_within(text, "2 files: 4 rows, 2 columns");
  expect_within(text, "b.csv: line 3, column a is \"x\"");
  arguments.run_file = (folder_ / "x.npy").string();
  {
    NpyWriter writer(real_files(), folder_ / "x.npy", Shape{2});
    writer.append(std::vector<float>{1, 2});
    writer.finish();
  }
  expect_within(testing::message_of([&] { check_command(arguments); }), "check ");
  arguments.files = {"label=y"};
  expect_within(testing::message_of([&] { check_command(arguments); }), "give --label COLUMN");
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

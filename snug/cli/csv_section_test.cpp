// How a run file speaks of CSV files.

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>

#include "snug/base/temporary_file.h"
#include "snug/cli/run_file.h"
#include "snug/data/source_testing.h"
#include "snug/testing/memory_files.h"
#include "snug/testing/temp_dir.h"

namespace snug::cli {
namespace {

using testing::expect_within;
using testing::message_of;
using testing::write_text;

class CsvSection : public ::testing::Test {
 protected:
  CsvSection() {
    write_text(real_files(), folder_ / "t.csv", "age,city,w,y\n20,a,1,no\n30,b,2,yes\n40,a,1,no\n");
  }

  RunFile run_with(const std::string& data) {
    write_text(real_files(), folder_ / "run.yaml", "data: {" + data + "}\n");
    return read_run_file((folder_ / "run.yaml").string(), {});
  }
  RunData open(const std::string& data) {
    return open_data(run_with(data), {.cache = folder_ / "cache"});
  }
  std::string refusal(const std::string& data) {
    return message_of([&] { open(data); });
  }

  testing::TempDir folder_;
};

TEST_F(CsvSection, ReadsColumns) {
  const RunData data = open(
      "train: t.csv, label: y, sample_weight: w, "
      "columns: {age: {use: min_max, missing: 3.5}, city: {hash: 4}}");
  ASSERT_TRUE(data.columns);
  EXPECT_EQ(data.columns->find("age")->use, ColumnUse::min_max);
  EXPECT_EQ(data.columns->find("age")->missing_value, 3.5);
  EXPECT_EQ(data.columns->find("city")->buckets, 4);
  ASSERT_EQ(data.train->fields().size(), 3u);
  EXPECT_EQ(data.train->fields()[2].role, FieldRole::weight);
  EXPECT_EQ(data.train->rows(), 3);
}

// As for what is not there.
TEST_F(CsvSection, NullIsNone) {
  EXPECT_EQ(open("train: t.csv, label: y, sample_weight: null, timeseries: null, validation: null")
                .train->fields()
                .size(),
            2u);
  const RunFile run = run_with(
      "train: {x: x.npy, y: y.npy, sample_weight: null}, augment: null, "
      "validation: {x: v.npy, sample_weight: ~}");
  const YamlValue& data = *run.section("data");
  EXPECT_EQ(data.find("augment"), nullptr);
  EXPECT_EQ(data.find("train")->items.size(), 2u);
  EXPECT_EQ(data.find("validation")->items.size(), 1u);
  expect_within(refusal("train: t.csv, label: y, augmnt: null"), "\"augmnt\" is no setting");
  expect_within(refusal("train: t.csv, label: null"), "label is empty");
}

// What was said comes back from the run file that a run writes.
TEST_F(CsvSection, ClipMedianAndUnseen) {
  RunFile run = run_with(
      "train: t.csv, label: y, columns: {age: {clip: [25, 35], missing: median}, "
      "city: {unseen: missing}}");
  const RunData data = open_data(run, {.cache = folder_ / "cache"});
  EXPECT_EQ(data.columns->find("age")->low, 25);
  EXPECT_EQ(data.columns->find("age")->missing_value, 30);
  EXPECT_TRUE(data.columns->find("city")->unseen_is_missing);
  set_columns(run, *data.columns);
  write_text(real_files(), folder_ / "again.yaml", yaml_text(run.tree));
  const RunFile again = read_run_file((folder_ / "again.yaml").string(), {});
  EXPECT_EQ(open_data(again, {.cache = folder_ / "cache"}).columns->json(), data.columns->json());
  expect_within(refusal("train: t.csv, label: y, columns: {age: {clip: 3}}"), "two numbers");
  expect_within(refusal("train: t.csv, label: y, columns: {city: {unseen: drop}}"),
                "missing or refuse");
}

TEST_F(CsvSection, SeveralLabels) {
  const RunData data = open("train: t.csv, label: [w, age]");
  EXPECT_EQ(data.train->fields()[1].row, Shape({2}));
}

TEST_F(CsvSection, TheChoicesGoIntoTheFile) {
  RunFile run = run_with("train: t.csv, label: y, columns: {age: as_is}");
  const RunData data = open_data(run, {.cache = folder_ / "cache"});
  set_columns(run, *data.columns);
  const std::string text = yaml_text(run.tree);
  for (const char* part : {"header: true", "one_hot", "as_is", "index"}) expect_within(text, part);
  // What was written gives the same columns.
  write_text(real_files(), folder_ / "again.yaml", text);
  const RunData again =
      open_data(read_run_file((folder_ / "again.yaml").string(), {}), {.cache = folder_ / "cache"});
  EXPECT_EQ(again.columns->columns, data.columns->columns);
}

TEST_F(CsvSection, MistakesHaveAPlace) {
  expect_within(refusal("train: t.csv"), "run.yaml:1: which column is the label?");
  expect_within(refusal("train: t.csv, lable: y"), "did you mean label?");
  expect_within(refusal("train: t.csv, label: y, columns: {age: bogus}"), "run.yaml:1");
  expect_within(refusal("train: t.csv, label: y, columns: {age: {us: log}}"), "did you mean use?");
  expect_within(refusal("train: t.csv, label: y, columns: {age: {missing: often}}"),
                "refuse, mean, median, flag, category or a number");
  expect_within(refusal("train: t.csv, label: y, columns: {city: {hash: 0}}"), "from 1 to 65536");
  expect_within(refusal("train: t.csv, label: y, columns: [age]"), "a map of columns");
  expect_within(refusal("train: t.csv, label: y, delimiter: \"::\""), "one character, or tab");
  expect_within(refusal("train: t.csv, label: y, on_bad_row: stopp"), "did you mean stop?");
  expect_within(refusal("train: t.csv, label: y, bad_rows_at_most: 2"), "a share, from 0 to 1");
  expect_within(refusal("train: t.csv, label: y, validation: {x: a.npy, y: b.npy}"), "CSV files");
  expect_within(refusal("train: 'u*.csv', label: y"), "no file matches");
  expect_within(refusal("train: absent.csv, label: y"), "absent.csv");
  expect_within(refusal("train: {x: x.npy, y: y.npy}, label: y"), "label is for CSV files");
}

// What killed processes have left is removed; what a living one writes stays.
TEST_F(CsvSection, TheCacheIsCleaned) {
  const Path cache = folder_ / "cache";
  real_files().create_directories(cache);
  const std::vector<Path> left = {cache / "old.csv-0123456789abcdef.rows.00112233445566aa.tmp",
                                  cache / "run-999999999.rejected.csv"};
  const std::vector<Path> kept = {cache / "other.rows", cache / rejected_name("another"),
                                  cache / "mine.tmp", cache / "x-y.rejected.csv",
                                  cache / "young-999999999.rejected.csv"};
  for (const Path& path : left) write_text(real_files(), path, "x");
  for (const Path& path : kept) write_text(real_files(), path, "x");
  std::filesystem::last_write_time(
      left[1], std::filesystem::file_time_type::clock::now() - std::chrono::hours(2));
  TemporaryFile held(real_files(), cache / "held.rows");
  clean_cache(cache);
  for (const Path& path : left) EXPECT_FALSE(real_files().size(path)) << path;
  for (const Path& path : kept) EXPECT_TRUE(real_files().size(path)) << path;
  EXPECT_TRUE(real_files().size(held.path()));
  clean_cache(folder_ / "nowhere");
}

}  // namespace
}  // namespace snug::cli

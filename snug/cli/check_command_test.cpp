#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>

#include "snug/cli/command.h"
#include "snug/data/image_testing.h"
#include "snug/data/npy_writer.h"
#include "snug/data/source_testing.h"
#include "snug/data/tfrecord.h"
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
    std::string message;
    int exit = 0;
    try {
      exit = check_command(arguments);
    } catch (const Error& error) {
      exit = error.exit_code();
      message = error.what();
    }
    std::fflush(stdout);
    return fmt::format("{}: {}{}", exit, ::testing::internal::GetCapturedStdout(), message);
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

// A float list x, an int64 list y and a JPEG file, as TensorFlow writes them; y is 0 and 1 by
// turns.
std::string records(int count) {
  const auto message = [](int number, const std::string& bytes) {
    return std::string{static_cast<char>(number << 3 | 2), static_cast<char>(bytes.size())} + bytes;
  };
  const auto crc = [](const std::string& bytes) {
    const uint32_t value = masked_crc32c(std::as_bytes(std::span(bytes)));
    return std::string(reinterpret_cast<const char*>(&value), 4);
  };
  std::string all;
  for (int i = 0; i < count; ++i) {
    const float values[] = {static_cast<float>(i), 0.5f};
    const std::string floats(reinterpret_cast<const char*>(values), sizeof(values));
    const auto feature = [&](const std::string& key, int list, const std::string& content) {
      return message(1, message(1, key) + message(2, message(list, message(1, content))));
    };
    const std::string example =
        message(1, feature("x", 2, floats) + feature("y", 3, {static_cast<char>(i % 2)}) +
                       feature("image", 1, "\xff\xd8\xff\xe0"));
    const uint64_t size = example.size();
    const std::string length(reinterpret_cast<const char*>(&size), 8);
    all += length + crc(length) + example + crc(example);
  }
  return all;
}

TEST_F(CheckCommand, RecordsByTheFeaturesOfTheFirst) {
  write_text(real_files(), folder_ / "t.tfrecord", records(10));
  const std::string text = check("t.tfrecord");
  EXPECT_TRUE(text.starts_with("0: ")) << text;
  expect_within(text, "t.tfrecord: 10 rows");
  expect_within(text, "x, float32[2]: 0 to 9, mean 2.5");
  expect_within(text, "classes: 0 (5), 1 (5)");
  expect_within(text, "feature \"image\": it holds a JPEG file");
  expect_within(text, "--against run.yaml");
  std::string damaged = records(10);
  damaged[damaged.size() / 2] ^= 0x20;
  write_text(real_files(), folder_ / "t.tfrecord", damaged);
  expect_within(check("t.tfrecord"), "wrong checksum");
  write_text(real_files(), folder_ / "t.tfrecord", "no record");
  expect_within(check("t.tfrecord"), "record 0");
}

// What a person would do next.
TEST_F(CheckCommand, SaysWhatIsDoubtfulAndWhatToDo) {
  std::string text = "age,day,source,y\n";
  for (int i = 0; i < 200; ++i)
    text +=
        fmt::format("{},2020-01-{:02},web,{}\n", i % 20 == 0 ? -999 : i % 37, 1 + i % 28, i % 2);
  write_text(real_files(), folder_ / "t.csv", text);
  const std::string found = check("t.csv");
  expect_within(found, "column age is -999 10 times, far from all others (");
  expect_within(found, "column day: its cells look like dates, such as \"2020-01-28\"");
  expect_within(found, "column source is always \"web\"");
  expect_within(found, "columns: {source: drop}");
  expect_within(found, "--label COLUMN");
  EXPECT_EQ(check("t.csv", /*json=*/false, "y").find("--label COLUMN"), std::string::npos);
}

// A few rows of a kind are enough; what to do stands below them.
TEST_F(CheckCommand, RowsOfOneKindAreNotListedOnAndOn) {
  std::string text = "a,b,c,y\n";
  for (int i = 0; i < 50; ++i) text += fmt::format("{},{}\n", i, i % 2);
  write_text(real_files(), folder_ / "t.csv", text);
  const std::string found = check("t.csv");
  expect_within(found, "50 x it has 2 cells");
  expect_within(found, "... and 45 more");
  expect_within(found, "give every column a name");
}

// What a person could take for something else, were it not said.
TEST_F(CheckCommand, SaysWhatIsTakenForMissing) {
  write_text(real_files(), folder_ / "t.csv",
             "a,b,y\n1,?,no\n2,x,yes\nNA,?,no\n4,x,yes\n5,y,no\n6,x,yes\n");
  const std::string text = check("t.csv", /*json=*/false, "y");
  expect_within(text, "\"?\" is taken for a missing value: 2 cells of b");
  expect_within(text, "\"NA\" is taken for a missing value: one cell of a");
}

TEST_F(CheckCommand, BadRowsOfAllKindsAreListedOnce) {
  std::string text = "a,b,y\n";
  for (int i = 0; i < 100; ++i) text += fmt::format("{},{},{}\n", i, i * 1'000'003, i % 2);
  text += "x,1,1\n1,y,0\n1,2\n1,2,1,3\n";
  write_text(real_files(), folder_ / "t.csv", text);
  const std::string found = check("t.csv", /*json=*/false, "y");
  expect_within(found, "Bad rows: 4 of 104");
  expect_within(found, "line 102, column a is \"x\", but a number was expected");
  EXPECT_EQ(found.find("The first of them"), std::string::npos) << found;
  expect_within(found, "0 to 99000297, mean");
}

TEST_F(CheckCommand, ClassesOfAFolder) {
  for (const char* name : {"cat", "Cat", "empty"})
    real_files().create_directories(folder_ / "p" / name);
  const std::string picture = testing::png_bytes(testing::smooth_picture(4, 4, 3));
  for (const char* name : {"cat/1.png", "cat/2.png", "Cat/1.png", "Cat/2.png"})
    write_text(real_files(), folder_ / "p" / name, picture);
  write_text(real_files(), folder_ / "p" / "cat" / "3.png", "no picture");
  const std::string text = check("p");
  EXPECT_TRUE(text.starts_with("4: ")) << text;
  expect_within(text, "classes: Cat (2), cat (2)");
  expect_within(text, "Bad rows: 1 of 5");
  expect_within(text, "class \"empty\" has no picture that can be read");
  expect_within(text, "\"Cat\" (2 times) and \"cat\" (2 times) look like one class");
  expect_within(text, "scaled to 256 x 256");
  expect_within(text, "Next: mend the rows; they are too many to be left out");
}

}  // namespace
}  // namespace snug::cli

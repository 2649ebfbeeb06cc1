#include "snug/data/table_report.h"

#include <gtest/gtest.h>

#include "snug/data/source_testing.h"
#include "snug/testing/csv_file.h"

namespace snug::testing {
namespace {

TableReport report_of(std::string_view text, const std::vector<std::string>& labels = {}) {
  CsvFile file(text);
  CsvTable table(file.files, {.files = {"t.csv"}, .header = {}});
  return report_on(table, {.labels = labels});
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

TEST(TableReport, ACleanTableIsClean) {
  std::string text = "a,b,y\n";
  for (int i = 0; i < 50; ++i) text += fmt::format("{},{},{}\n", i, i * i % 7, i % 2);
  const TableReport report = report_of(text, {"y"});
  EXPECT_TRUE(report.is_clean()) << joined(report.wrong);
  EXPECT_EQ(report.scan.records, 50);
  EXPECT_EQ(kind_of(report.scan.columns[0]), "number");
  EXPECT_EQ(report.scan.columns[0].max, 49);
  EXPECT_TRUE(report.notes.empty()) << joined(report.notes);
}

TEST(TableReport, ListsBadRows) {
  const TableReport report = report_of("a,y\n1,0\nx,1\n3\n4,1\n5,0\n6,\n", {"y"});
  EXPECT_EQ(report.bad_rows, 3);
  ASSERT_EQ(report.listed.size(), 3u);
  EXPECT_EQ(report.listed[0].text(), "t.csv: line 3, column a is \"x\", but a number was expected");
  expect_within(report.listed[1].text(), "line 4: it has 1 cells, but 2");
  expect_within(report.listed[2].text(), "line 7, column y is \"\"");
  EXPECT_FALSE(report.is_clean());
}

TEST(TableReport, FindsRowsThatAQuoteHasSwallowed) {
  const auto report_with = [](int first, int second) {
    std::string text = "a,w,y\n";
    for (int i = 0; i < 100; ++i)
      text += fmt::format("{},{}u,{}\n", i % 7, i == first || i == second ? "\"" : "", i % 2);
    return report_of(text, {"y"});
  };
  const TableReport closed = report_with(40, 60);
  expect_within(joined(closed.wrong),
                "t.csv: line 42: the quoted cell runs on for 21 lines; is its closing quote "
                "missing?");
  EXPECT_EQ(closed.bad_rows, 0);
  EXPECT_TRUE(report_with(40, 45).is_clean()) << "a few lines";
  const TableReport open = report_with(40, -1);
  EXPECT_EQ(open.bad_rows, 60);
  EXPECT_EQ(open.scan.records, 100);
}

TEST(TableReport, LongTextsAreNoSwallowedRows) {
  std::string text = "a,w,y\n";
  for (int i = 0; i < 20; ++i) {
    text += fmt::format("{},\"", i % 7);
    for (int line = 0; line < 15; ++line) text += "it was good, all in all\n";
    text += fmt::format("\",{}\n", i % 2);
  }
  const TableReport report = report_of(text, {"y"});
  EXPECT_TRUE(report.is_clean()) << joined(report.wrong);
}

TEST(TableReport, FindsClassesWrittenInTwoWays) {
  std::string text = "a,income\n";
  for (int i = 0; i < 20; ++i) text += fmt::format("{},{}\n", i, i % 2 == 0 ? "<=50K" : ">50K");
  text += "1,<=50K.\n2,<=50k\n3,>50K\n";
  const std::string wrong = joined(report_of(text, {"income"}).wrong);
  expect_within(wrong,
                "\"<=50K\" (10 times), \"<=50K.\" (once) and \"<=50k\" (once) look like one "
                "category written in 3 ways");
  // What follows from it is not said again.
  EXPECT_EQ(wrong.find("validation_split"), std::string::npos) << wrong;
}

TEST(TableReport, SaysWhatMostRowsHaveInCommon) {
  std::string rows;
  for (int i = 0; i < 30; ++i) rows += fmt::format("{},{},{}\n", i % 7, i * i % 11, i % 2);
  expect_within(joined(report_of("# made by a tool\na,b,y\n" + rows).wrong),
                "31 of 31 rows have 3 cells, but the first line has 1: if that is a title");
  EXPECT_EQ(joined(report_of("# made by a tool\n# today\na,b,y\n" + rows).wrong).find("one cell"),
            std::string::npos);
  const std::string latin = "a,y\n1,K\xf6ln\n2,Bonn\n3,K\xf6ln\n4,Bonn\n";
  expect_within(joined(report_of(latin).wrong), "2 rows hold text that is no UTF-8");
  expect_within(joined(report_of("a b y\n1 2 0\n3 4 1\n").wrong), "every row is one cell");
  expect_within(joined(report_of(rows).notes), "the first line is taken for a row, because \"0\"");
  EXPECT_TRUE(report_of("a,b,y\n" + rows).notes.empty());
}

TEST(TableReport, KindsOfBadRowsAreCounted) {
  std::string text = "a,b,y\n";
  for (int i = 0; i < 60; ++i)
    text += fmt::format("{},{},{}\n", i % 10 == 3 ? (i % 20 == 3 ? "x" : "z") : "1",
                        i % 30 == 4 ? "?" : "2", i % 2);
  const TableReport report = report_of(text + "1\n1,2,\n", {"y"});
  ASSERT_EQ(report.kinds.size(), 3u);
  EXPECT_EQ(report.kinds[0].rows, 6);
  EXPECT_EQ(report.kinds[0].text(), "column a is \"x\" or \"z\", but a number was expected");
  EXPECT_EQ(report.kinds[0].first, "line 5");
  expect_within(report.kinds[1].text(), "it has 1 cells");
  expect_within(report.kinds[2].text(), "column y is \"\", but a value was expected");
  EXPECT_EQ(report.bad_rows, 8);
  EXPECT_EQ(report.imputable, 6);
}

TEST(TableReport, NotesNumbersThatAreWrittenInAnotherWay) {
  std::string text = "weight,price,share,comma,quarter,y\n";
  for (int i = 0; i < 12; ++i)
    text += fmt::format("{} kg,\"$1,{:03}\",{}%,\"{},5\",Q{},{}\n", 50 + i, i, i, -i, i % 6, i % 2);
  const std::string notes = joined(report_of(text, {"y"}).notes);
  for (const char* column : {"weight", "price", "share", "comma"})
    expect_within(notes, fmt::format("column {}: its cells look like numbers", column));
  EXPECT_EQ(notes.find("quarter"), std::string::npos) << notes;
}

TEST(TableReport, NotesColumnsThatNumberTheRows) {
  std::string text = ",id,a,y\n";
  for (int i = 0; i < 150; ++i) text += fmt::format("{},{},{},{}\n", i, 900 - i, i % 9, i % 2);
  const std::string notes = joined(report_of(text, {"y"}).notes);
  expect_within(notes, "column 0 has no name and numbers the rows; it will be dropped");
  expect_within(notes, "column id has a whole number of its own in every row");
  EXPECT_TRUE(joined(report_of(text, {"id"}).notes).find("column id") == std::string::npos);
}

TEST(TableReport, FindsClassesOnOneSideOnly) {
  std::string text = "a,y\n";
  for (int i = 0; i < 100; ++i) text += fmt::format("{},{}\n", i, i / 25);
  const std::string wrong = joined(report_of(text, {"y"}).wrong);
  expect_within(wrong, "class \"0\" has 25 rows, all of them in the first 80 %");
  EXPECT_EQ(wrong.find("\"3\""), std::string::npos) << wrong;
  std::string tail = "a,y\n";
  for (int i = 0; i < 100; ++i) tail += fmt::format("{},{}\n", i, i < 90 ? i % 2 : 2);
  expect_within(joined(report_of(tail, {"y"}).wrong), "all of them in the last 20 %");
}

// Of a regression nothing is wrong.
TEST(TableReport, NumbersThatHardlyComeTwiceAreNoClasses) {
  std::string text = "a,y\n";
  for (int i = 0; i < 50; ++i) text += fmt::format("{},{}\n", i % 7, 3 * i % 40);
  EXPECT_TRUE(report_of(text, {"y"}).wrong.empty());
}

TEST(TableReport, NotesUselessColumns) {
  std::string text = "a,b,same,none,mixed\n";
  for (int i = 0; i < 10; ++i) text += fmt::format("{},{},7,,{}\n", i, i, i < 4 ? "1" : "x");
  const std::string notes = joined(report_of(text).notes);
  expect_within(notes, "column b is the same as column a");
  expect_within(notes, "column same is always \"7\"");
  expect_within(notes, "column none is empty");
  expect_within(notes, "column mixed is taken for a category: 4 of its cells are numbers and 6");
  EXPECT_FALSE(report_of("a,y\n").is_clean());
}

}  // namespace
}  // namespace snug::testing

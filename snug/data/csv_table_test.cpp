#include "snug/data/csv_table.h"

#include <gtest/gtest.h>

#include "snug/base/heap.h"
#include "snug/base/memory.h"
#include "snug/data/csv_rows.h"
#include "snug/data/csv_scan.h"
#include "snug/data/gzip_testing.h"
#include "snug/data/source_testing.h"
#include "snug/testing/csv_file.h"
#include "snug/testing/sanitized.h"

namespace snug::testing {
namespace {

using Names = std::vector<std::string>;

Names names_of(std::string_view text, std::optional<bool> header = {}) {
  CsvFile file(text);
  return CsvTable(file.files, {.files = {"t.csv"}, .header = header}).names();
}

TEST(CsvTable, RecognisesAHeader) {
  EXPECT_EQ(names_of("age,work\n20,private\n"), (Names{"age", "work"}));
  EXPECT_EQ(names_of("20,private\n30,state\n"), (Names{"0", "1"})) << "a number is no name";
  EXPECT_EQ(names_of("p,x,x\ne,b,s\n"), (Names{"0", "1", "2"})) << "two of one name are rows";
  EXPECT_EQ(names_of("20,private\n", true), (Names{"20", "private"}));
  EXPECT_EQ(names_of("age,work\n", false), (Names{"0", "1"}));
  EXPECT_EQ(names_of("a,,c\n1,2,3\n", true), (Names{"a", "column 1", "c"}));
  EXPECT_EQ(names_of("\"first, last\",b\n1,2\n"), (Names{"first, last", "b"}));
  EXPECT_EQ(names_of(",a,b,y\n0,1,2,3\n"), (Names{"column 0", "a", "b", "y"})) << "of pandas";
  EXPECT_EQ(names_of("a,,y\n1,2,3\n"), (Names{"0", "1", "2"}));
  EXPECT_EQ(names_of("a,b,\n1,2,\n"), (Names{"a", "b", "column 2"})) << "lines end in a comma";
  EXPECT_EQ(names_of("a,?,b\nb,c,?\n"), (Names{"0", "1", "2"})) << "a missing value is no name";
  EXPECT_EQ(names_of("a,x,x\n?,?,?\n"), (Names{"0", "1", "2"}));
  // Above numbers they are names, and one comes twice.
  expect_within(message_of<DataError>([] { names_of("a,x,x\nb,1,2\n"); }),
                "t.csv: line 1: two columns are called \"x\"; rename one");
}

TEST(CsvTable, AQuoteOfTheFirstLineThatIsNeverClosedIsAnError) {
  for (const char* text : {"\"a,y\n1,2\n3,4\n", "a,\"y\n1,2\n", "1,\"2\n3,4\n", "\""})
    for (const std::optional<bool> header : {std::optional<bool>(), std::optional(true)})
      expect_within(message_of<DataError>([&] { names_of(text, header); }),
                    "t.csv: line 1: a quote is never closed, so no row follows");
}

TEST(CsvTable, SaysWhyTheFirstRecordIsNoHeader) {
  const auto reason = [](std::string_view text, std::optional<bool> header = {}) {
    CsvFile file(text);
    return CsvTable(file.files, {.files = {"t.csv"}, .header = header}).why_no_header("y");
  };
  EXPECT_EQ(reason("a,2020,y\n1,2,3\n"), "\"2020\" is a number; give header: true");
  EXPECT_EQ(reason("a,,y\n1,2,3\n"), "cell 1 of it is empty; give header: true");
  EXPECT_EQ(reason("a,a,y\nb,c,d\n"), "two columns are called \"a\"; rename one");
  EXPECT_EQ(reason("a,b,y\n1,2,3\n"), "");
  EXPECT_EQ(reason("a,2020,z\n1,2,3\n"), "") << "it has no such cell";
  EXPECT_EQ(reason("a,2020,y\n1,2,3\n", false), "") << "the user knows";
}

Table rows_of(CsvTable& table) {
  Table rows;
  CsvRecord record;
  while (table.next(record)) rows.emplace_back(record.cells.begin(), record.cells.end());
  return rows;
}

TEST(CsvTable, GoesOverItsFilesAgainAndAgain) {
  CsvFile file("a,b\n1,2\n3,4\n");
  write_text(file.files, "u.csv", gzipped("a,b\n5,6\n"));
  write_text(file.files, "v.csv", "a,b\n");
  write_text(file.files, "w.csv", "a,b\n7,8");
  CsvTable table(file.files, {.files = {"t.csv", "u.csv", "v.csv", "w.csv"}, .header = {}});
  const Table expected = {{"1", "2"}, {"3", "4"}, {"5", "6"}, {"7", "8"}};
  for (int pass = 0; pass < 3; ++pass) {
    EXPECT_EQ(rows_of(table), expected);
    table.restart();
  }
}

TEST(CsvTable, GoesToAPlace) {
  CsvFile file("a,b\n1,2\n3,4\n");
  write_text(file.files, "u.csv", "a,b\n5,6\n7,8\n");
  CsvTable table(file.files, {.files = {"t.csv", "u.csv"}, .header = {}});
  CsvRecord record;
  std::vector<CsvPlace> places;
  while (table.next(record)) places.push_back(table.place(record));
  ASSERT_EQ(places.size(), 4u);
  for (const size_t i : {size_t{3}, size_t{0}, size_t{2}, size_t{1}}) {
    table.seek(places[i]);
    ASSERT_TRUE(table.next(record));
    EXPECT_EQ(record.cells[0], std::to_string(2 * i + 1));
    EXPECT_EQ(record.line, places[i].line);
  }
  write_text(file.files, "z.csv", gzipped("a,b\n1,2\n"));
  CsvTable packed(file.files, {.files = {"z.csv"}, .header = {}});
  expect_within(message_of<DataError>([&] { packed.seek({0, 4, 2}); }), "give a cache folder");
}

TEST(CsvTable, LaterFilesHaveTheSameColumns) {
  CsvFile file("a,b\n1,2\n");
  const auto message = [&](std::string_view second) {
    write_text(file.files, "u.csv", second);
    CsvTable table(file.files, {.files = {"t.csv", "u.csv"}, .header = {}});
    return message_of<DataError>([&] { rows_of(table); });
  };
  expect_within(message("a,c\n3,4\n"), "u.csv: column 1 is called \"c\", but in t.csv it is \"b\"");
  expect_within(message("a\n3\n"), "column 1 is called \"nothing\"");
  expect_within(message("a,b,c\n3,4,5\n"), "the header has 3 columns");
  expect_within(message(""), "u.csv: the file is empty");
  expect_within(message_of([] { CsvTable(real_files(), {}); }), "no file was given");
}

TEST(CsvTable, FilesOfPandasFollowOneAnother) {
  CsvFile file(",a\n0,1\n");
  write_text(file.files, "u.csv", ",a\n1,2\n");
  CsvTable table(file.files, {.files = {"t.csv", "u.csv"}, .header = {}});
  EXPECT_EQ(rows_of(table), (Table{{"0", "1"}, {"1", "2"}}));
}

TEST(CsvTable, AnIdentityChangesWithTheFile) {
  CsvFile file(std::string(200'000, 'x'));
  const std::vector<Path> paths = {"t.csv"};
  const std::string before = identity_of(file.files, paths);
  EXPECT_EQ(identity_of(file.files, paths), before);
  for (const size_t at : {size_t{0}, size_t{199'999}}) {
    std::string changed(200'000, 'x');
    changed[at] = 'y';
    write_text(file.files, "t.csv", changed);
    EXPECT_NE(identity_of(file.files, paths), before) << at;
  }
  write_text(file.files, "t.csv", std::string(200'001, 'x'));
  EXPECT_NE(identity_of(file.files, paths), before);
}

TEST(SampledIndex, StaysSmallAndFindsEveryRow) {
  for (const int64_t rows : {1, 7, 8, 9, 1000, 4097}) {
    SampledIndex index(8);
    for (int64_t row = 0; row < rows; ++row) index.add({0, row * 10, row + 2});
    EXPECT_EQ(index.rows(), rows);
    EXPECT_LE(index.bytes(), 2 * 8 * sizeof(CsvPlace));
    for (int64_t row = 0; row < rows; ++row) {
      const SampledIndex::Sample sample = index.before(row);
      EXPECT_LE(sample.row, row);
      EXPECT_LT(row - sample.row, std::max<int64_t>(1, rows / 2));
      EXPECT_EQ(sample.place.offset, sample.row * 10);
    }
  }
}

TEST(ScanTable, CountsWhatColumnsHold) {
  CsvFile file("n,w,t\n1,x,\n2.5,y,?\n-3,x,NA\n1e999,x,a\nshort,row\nabc,\"a longer cell\",\n");
  CsvTable table(file.files, {.files = {"t.csv"}, .header = {}});
  const TableScan scan = scan_table(table);
  EXPECT_EQ(scan.records, 6);
  EXPECT_EQ(scan.longest_record_line, 7);
  const ColumnScan& n = scan.columns[0];
  EXPECT_EQ(n.cells, 5);
  EXPECT_EQ(n.numbers, 3);
  EXPECT_EQ(n.whole, 2);
  EXPECT_EQ(n.not_finite, 1);
  EXPECT_EQ(n.min, -3);
  EXPECT_EQ(n.max, 2.5);
  EXPECT_NEAR(n.mean(), 0.5 / 3, 1e-12);
  EXPECT_EQ(n.first_text, "abc");
  EXPECT_EQ(n.first_text_line, 7);
  EXPECT_TRUE(n.is_number());
  EXPECT_EQ(scan.columns[1].values.count("x"), 3);
  EXPECT_EQ(scan.columns[2].missing, 4);
}

// A number whose square is none would take the deviation of all others with it.
TEST(ScanTable, NumbersNextToInfinityAreCountedApart) {
  CsvFile file("n\n1\n1e308\n3\n-1e200\n");
  CsvTable table(file.files, {.files = {"t.csv"}, .header = {}});
  const ColumnScan n = scan_table(table).columns[0];
  EXPECT_EQ(n.numbers, 2);
  EXPECT_EQ(n.not_finite, 2);
  EXPECT_EQ(n.max, 3);
  EXPECT_EQ(n.deviation(), 1);
}

std::string wide_table(int64_t columns, int rows) {
  std::string text;
  for (int64_t i = 0; i < columns; ++i) text += fmt::format("{}c{}", i > 0 ? "," : "", i);
  for (int row = 0; row < rows; ++row) {
    for (int64_t i = 0; i < columns; ++i)
      text += fmt::format("{}{}", i > 0 ? ',' : '\n', 100 * row + i % 50);
  }
  return text + '\n';
}

// Whatever a table is like, what is learned of it has a bound.
TEST(ScanTable, ManyColumnsTakeLittleMemory) {
  if (testing::kSanitized) GTEST_SKIP() << "the heap is the sanitizer's";
  constexpr int64_t kColumns = 50'000, kMostOfAColumn = 2'500;
  CsvFile file(wide_table(kColumns, 20));
  CsvTable table(file.files, {.files = {"t.csv"}, .header = {}});
  forget_peak();
  const int64_t before = resident_bytes();
  const TableScan scan = scan_table(table, {.threads = 2});
  EXPECT_EQ(scan.records, 20);
  EXPECT_FALSE(scan.columns[7].all_different) << "they are too many to be looked at";
  EXPECT_LT(peak_resident_bytes() - before, kColumns * kMostOfAColumn);
}

// A byte and a delimiter become eight bytes: a round of blocks is many times what may be kept.
TEST(ScanTable, NumbersThatAreKeptHaveABound) {
  if (testing::kSanitized) GTEST_SKIP() << "the heap is the sanitizer's";
  constexpr int64_t kMost = int64_t{4} << 20, kBlocksAndTheRest = int64_t{12} << 20;
  std::string text = "a,b,c,d\n";
  while (text.size() < size_t{16} << 20) text += "0,1,7,3\n";
  CsvFile file(text);
  CsvTable table(file.files, {.files = {"t.csv"}, .header = {}});
  forget_peak();
  const int64_t before = resident_bytes();
  const TableScan scan = scan_table(table, {.most_number_bytes = kMost, .threads = 2});
  EXPECT_FALSE(scan.numbers);
  EXPECT_EQ(scan.columns[3].numbers, scan.records);
  EXPECT_LT(peak_resident_bytes() - before, kMost + kBlocksAndTheRest);
}

// In a wide table, too, 4096 rows are looked at before a column is said to number them.
TEST(ScanTable, AnIdIsFoundAmongManyColumns) {
  std::string text = "id";
  for (int i = 1; i < 400; ++i) text += fmt::format(",c{}", i);
  for (int row = 0; row < 1000; ++row) {
    text += fmt::format("\n{}", row);
    for (int i = 1; i < 400; ++i) text += fmt::format(",{}", (row + i) % (200 + i % 50));
  }
  CsvFile file(text + '\n');
  CsvTable table(file.files, {.files = {"t.csv"}, .header = {}});
  const TableScan scan = scan_table(table, {.threads = 2});
  EXPECT_TRUE(scan.columns[0].all_different);
  for (int i = 1; i < 400; ++i) EXPECT_FALSE(scan.columns[i].all_different) << i;
}

TEST(CsvTable, HasAMostOfColumns) {
  CsvFile file(wide_table(70'000, 1));
  expect_within(
      message_of<DataError>([&] { CsvTable(file.files, {.files = {"t.csv"}, .header = {}}); }),
      "t.csv: line 1 has 70000 columns, more than the 65536");
}

TEST(ScanTable, AVocabularyHasABound) {
  Vocabulary words(1000);
  for (int i = 0; i < 100; ++i) words.add(fmt::format("word {}", i));
  EXPECT_TRUE(words.is_full());
  EXPECT_EQ(words.size(), 0u);
  Vocabulary few;
  for (const char* word : {"10", "9", "1e1", "9"}) few.add(word);
  EXPECT_EQ(few.sorted(), (Names{"9", "10", "1e1"})) << "numbers in their order";
  few.add("b");
  EXPECT_EQ(few.sorted(), (Names{"10", "1e1", "9", "b"}));
  for (int i = 0; i < 5000; ++i) few.add(std::to_string(i));
  EXPECT_TRUE(few.is_full());
}

}  // namespace
}  // namespace snug::testing

#include "snug/data/csv_reader.h"

#include <gtest/gtest.h>

#include "snug/data/gzip_testing.h"
#include "snug/data/source_testing.h"
#include "snug/testing/csv_file.h"

namespace snug::testing {
namespace {

Table parse(std::string_view text, char delimiter = 0) {
  const CsvFile file(text);
  CsvReader reader(const_cast<MemoryFiles&>(file.files), "t.csv", delimiter);
  return cells_of(reader);
}

TEST(CsvReader, SplitsRecords) {
  const Table expected = {{"a", "b", "c"}, {"1", "", "3"}};
  EXPECT_EQ(parse("a,b,c\n1,,3\n"), expected);
  EXPECT_EQ(parse("a,b,c\r\n1,,3\r\n"), expected) << "CRLF";
  EXPECT_EQ(parse("a,b,c\n1,,3"), expected) << "no last line end";
  EXPECT_EQ(parse("a,b,c\r1,,3\r"), expected) << "old Mac";
  EXPECT_EQ(parse("\xef\xbb\xbf"
                  "a,b,c\n1,,3\n"),
            expected)
      << "byte order mark";
  EXPECT_EQ(parse("a,b,c\n\n1,,3\n  \n\n"), expected) << "empty lines";
  EXPECT_EQ(parse(" a , b,c \n1, ,3\n"), expected) << "blanks around cells";
  EXPECT_EQ(parse(gzipped("a,b,c\n1,,3\n")), expected) << "gzip";
}

TEST(CsvReader, FindsTheDelimiter) {
  const Table expected = {{"a", "b"}, {"1", "2"}};
  EXPECT_EQ(parse("a\tb\n1\t2\n"), expected);
  EXPECT_EQ(parse("a;b\n1;2\n"), expected);
  EXPECT_EQ(parse("a|b\n1|2\n"), expected);
  EXPECT_EQ(parse("a:b\n1:2\n", ':'), expected);
  EXPECT_EQ(parse("a\t\tb\n", '\t'), (Table{{"a", "", "b"}})) << "blanks that divide cells";
  EXPECT_EQ(parse("\n \r\na;b\n1;2\n"), expected) << "behind blank lines";
  // What stands in quotes divides no cells.
  EXPECT_EQ(parse("\"a, x, y\";b\n1;2\n"), (Table{{"a, x, y", "b"}, {"1", "2"}}));
  EXPECT_EQ(parse("a;\"b \"\",,\"\" ,\nc\"\n1;2\n"), (Table{{"a", "b \",,\" ,\nc"}, {"1", "2"}}));
  EXPECT_EQ(parse("5\" pipe;6\" pipe\n1;2\n"), (Table{{"5\" pipe", "6\" pipe"}, {"1", "2"}}));
}

TEST(CsvReader, NamesFilesThatAreNoTables) {
  const auto refusal = [](std::string_view text) {
    return message_of<DataError>([&] { parse(text); });
  };
  expect_within(refusal("PK\x03\x04\x14..."), "t.csv: it is no text with columns, but a zip file");
  expect_within(refusal("\n<!DOCTYPE html>\n<html>"), "a web page; was the download refused?");
  expect_within(refusal("[{\"a\": 1}]\n"), "but JSON");
  expect_within(refusal("PAR1\x15"), "a Parquet file");
}

TEST(CsvReader, TakesQuotes) {
  EXPECT_EQ(parse("\"a,b\",c\n"), (Table{{"a,b", "c"}}));
  EXPECT_EQ(parse("\"a \"\"b\"\"\",c\n"), (Table{{"a \"b\"", "c"}}));
  EXPECT_EQ(parse("\"two\nlines\",c\nd,e\n"), (Table{{"two\nlines", "c"}, {"d", "e"}}));
  EXPECT_EQ(parse("x, \" kept \" ,y\n"), (Table{{"x", " kept ", "y"}}));
  EXPECT_EQ(parse("\"\",\"\"\n"), (Table{{"", ""}}));
  EXPECT_EQ(parse("5\" pipe,6\n"), (Table{{"5\" pipe", "6"}})) << "a quote inside a cell";
  EXPECT_EQ(parse("\"ab\"cd,e\n"), (Table{{"abcd", "e"}}));
  EXPECT_EQ(parse("a,\"b\""), (Table{{"a", "b"}}));
}

TEST(CsvReader, KnowsWhereRecordsStand) {
  const CsvFile file("a,b\n\"x\ny\",1\n\nz,2\n");
  CsvReader reader(const_cast<MemoryFiles&>(file.files), "t.csv");
  CsvRecord record;
  std::vector<std::pair<int64_t, int64_t>> places;
  while (reader.next(record)) places.emplace_back(record.line, record.offset);
  EXPECT_EQ(places, (std::vector<std::pair<int64_t, int64_t>>{{1, 0}, {2, 4}, {5, 13}}));
  reader.seek(4, 2);
  ASSERT_TRUE(reader.next(record));
  EXPECT_EQ(record.cells[0], "x\ny");
  ASSERT_TRUE(reader.next(record));
  EXPECT_EQ(record.line, 5);
  reader.restart();
  EXPECT_EQ(cells_of(reader).size(), 3u);
}

TEST(CsvReader, RecordsCrossTheBuffer) {
  // Cells of every length around the size of the buffer, quoted and not.
  std::string text;
  Table expected;
  for (int i = 0; i < 3000; ++i) {
    const std::string cell(static_cast<size_t>(i % 701), static_cast<char>('a' + i % 26));
    const bool quoted = i % 3 == 0;
    text += quoted ? "\"" + cell + "\n\"\"\"" : "c" + cell;
    text += "," + std::to_string(i) + (i % 2 == 0 ? "\n" : "\r\n");
    expected.push_back({quoted ? cell + "\n\"" : "c" + cell, std::to_string(i)});
  }
  EXPECT_EQ(parse(text), expected);
  EXPECT_EQ(parse(gzipped(text)), expected);
}

TEST(CsvReader, SaysThatAQuoteStaysOpen) {
  const CsvFile file("a,b\n1,\"2\n3,4\n");
  CsvReader reader(const_cast<MemoryFiles&>(file.files), "t.csv");
  CsvRecord record;
  ASSERT_TRUE(reader.next(record));
  EXPECT_FALSE(record.open_quote);
  ASSERT_TRUE(reader.next(record));
  EXPECT_TRUE(record.open_quote);
  EXPECT_FALSE(reader.next(record));
}

// As in tables whose columns are aligned.
TEST(CsvReader, SeveralBlanksDivideLikeOne) {
  const Table expected = {{"a", "b", "c"}, {"1", "20", "3"}, {"4", "5", "x y"}, {"7", "8", "9"}};
  CsvFile file("a  b c\n 1 20  3\n4    5 \"x y\" \n7 8   9  \n");
  CsvReader reader(file.files, "t.csv", ' ');
  EXPECT_EQ(cells_of(reader), expected);
  CsvTable table(file.files, {.files = {"t.csv"}, .header = {}, .delimiter = ' '});
  CsvBlock block;
  CsvRecord record;
  std::string unquoted;
  Table cells;
  while (table.next_block(block)) {
    if (block.plain) block.find_records();
    for (const CsvBlock::Record& one : block.records) {
      block.split(one, record, unquoted);
      cells.emplace_back(record.cells.begin(), record.cells.end());
    }
  }
  EXPECT_EQ(cells, Table(expected.begin() + 1, expected.end()));
}

TEST(CsvReader, RefusesWhatIsNoTable) {
  std::string huge = "a,b\n\"";
  huge.resize(CsvReader::kMostRecordBytes + 10, 'x');
  const std::string message = message_of<DataError>([&] { parse(huge); });
  expect_within(message, "t.csv: the record that begins in line 2");
  expect_within(message, "quote");
  expect_within(message_of<DataError>([] {
                  parse(
                      "\xff\xfe"
                      "a");
                }),
                "UTF-16");
  expect_within(message_of<DataError>([] { parse(std::string_view("a\0b", 3)); }), "byte 1 is 0");
  std::string cut = gzipped("a,b\n1,2\n");
  cut.resize(cut.size() - 9);
  expect_within(message_of<DataError>([&] { parse(cut); }), "cut off");
  EXPECT_EQ(parse("").size(), 0u);
}

}  // namespace
}  // namespace snug::testing

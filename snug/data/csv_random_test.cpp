// CSV files that nobody would write by hand.

#include <gtest/gtest.h>

#include <random>

#include "snug/data/csv.h"
#include "snug/data/gzip_testing.h"
#include "snug/data/source_testing.h"
#include "snug/data/table_report.h"
#include "snug/testing/csv_file.h"

namespace snug::testing {
namespace {

using Random = std::mt19937;

std::string random_cell(Random& random) {
  constexpr std::string_view kLetters = "ab1.-\"'\n\r,;\t |é0";
  std::string cell;
  for (size_t left = random() % 6; left > 0; --left) cell += kLetters[random() % 14];
  return cell;
}

std::string in_csv_quotes(const std::string& cell) {
  std::string text = "\"";
  for (const char c : cell) text += c == '"' ? std::string("\"\"") : std::string(1, c);
  return text + "\"";
}

// What a writer of CSV files that knows its job makes of a table, in one of the ways there are.
std::string written(const Table& table, Random& random) {
  const std::string newline = random() % 2 == 0 ? "\n" : "\r\n";
  std::string text = random() % 4 == 0 ? "\xef\xbb\xbf" : "";
  for (size_t r = 0; r < table.size(); ++r) {
    for (size_t c = 0; c < table[r].size(); ++c) {
      const std::string& cell = table[r][c];
      const bool special = cell.empty() || cell.find_first_of("\",\r\n \t") != std::string::npos;
      if (c > 0) text += ',';
      if (random() % 5 == 0) text += ' ';
      text += special || random() % 3 == 0 ? in_csv_quotes(cell) : cell;
      if (random() % 5 == 0) text += ' ';
    }
    if (r + 1 < table.size() || random() % 2 == 0) text += newline;
    if (random() % 10 == 0 && r + 1 < table.size()) text += newline;
  }
  return text;
}

TEST(RandomCsv, IsReadAsItWasWritten) {
  Random random(1);
  for (int trial = 0; trial < 300; ++trial) {
    Table table(1 + random() % 8);
    const size_t columns = 1 + random() % 4;
    for (auto& row : table) {
      for (size_t c = 0; c < columns; ++c) row.push_back(random_cell(random));
    }
    const std::string text = written(table, random);
    const CsvFile file(random() % 3 == 0 ? gzipped(text) : text);
    CsvReader reader(const_cast<MemoryFiles&>(file.files), "t.csv", ',');
    EXPECT_EQ(cells_of(reader), table) << text;
    reader.restart();
    EXPECT_EQ(cells_of(reader), table) << "a second time: " << text;
  }
}

// A table of numbers, categories and labels with some rubbish in it.
std::string dirty_table(Random& random, int rows) {
  std::string text = "n,c,y\n";
  for (int i = 0; i < rows; ++i) {
    const std::string number = random() % 20 == 0 ? "?" : std::to_string(random() % 100);
    std::string row = fmt::format("{},k{},{}", number, random() % 4, random() % 2);
    if (random() % 15 == 0) row = random() % 2 == 0 ? "oops," + row : fmt::format("x{},k1,1", i);
    if (random() % 30 == 0) row = "1,\"k\n2\",0";
    text += row + "\n";
  }
  return text;
}

TEST(RandomCsv, IsTheSameHeldKeptAndParsed) {
  Random random(2);
  for (int trial = 0; trial < 20; ++trial) {
    CsvFile file(dirty_table(random, 200));
    data::CsvOptions options = file.options({"y"});
    options.bad_rows = {.policy = BadRowPolicy::skip, .most = 1};
    const data::CsvData held = data::csv(options);
    options.most_in_memory = 16;
    const data::CsvData parsed = data::csv(options);
    options.cache = "cache";
    data::csv(options);
    const data::CsvData kept = data::csv(options);
    const int64_t rows = *held.source->rows();
    std::vector<int64_t> numbers;
    for (int i = 0; i < 100; ++i) numbers.push_back(static_cast<int64_t>(random()) % rows);
    for (const data::CsvData* other : {&parsed, &kept}) {
      ASSERT_EQ(other->source->rows(), rows);
      EXPECT_EQ(other->bad_rows, held.bad_rows);
      for (const int field : {0, 1}) {
        EXPECT_EQ(read_rows(*other->source, field, numbers),
                  read_rows(*held.source, field, numbers));
      }
    }
  }
}

// Good rows and bad ones together are all rows, whatever is asked.
TEST(RandomCsv, EveryRecordIsCountedOnce) {
  Random random(3);
  for (int trial = 0; trial < 20; ++trial) {
    CsvFile file(dirty_table(random, 150));
    CsvTable table(file.files, {.files = {"t.csv"}, .header = {}});
    const TableReport report = report_on(table, {.labels = {"y"}});
    data::CsvOptions options = file.options({"y"});
    options.bad_rows = {.policy = BadRowPolicy::quarantine, .most = 1, .rejected = "r.csv"};
    const data::CsvData csv = data::csv(options);
    EXPECT_EQ(csv.bad_rows, report.bad_rows);
    EXPECT_EQ(*csv.source->rows() + csv.bad_rows, report.scan.records);
    if (csv.bad_rows == 0) continue;
    CsvReader rejected(file.files, "r.csv", ',');
    EXPECT_EQ(std::ssize(cells_of(rejected)), csv.bad_rows + 1);
    file.files.remove("r.csv");
  }
}

// Cut at every byte, with any byte changed: rows or a message, never a fault of ours.
TEST(RandomCsv, DamageIsReadOrRefused) {
  Random random(4);
  const std::string whole = dirty_table(random, 12);
  const std::string packed = gzipped(whole);
  const auto read = [](const std::string& text) {
    CsvFile file(text);
    data::CsvOptions options = file.options({"y"});
    options.bad_rows = {.policy = BadRowPolicy::skip, .most = 1};
    try {
      const data::CsvData csv = data::csv(options);
      read_rows(*csv.source, 0, {0, *csv.source->rows() - 1});
    } catch (const InternalError& error) {
      ADD_FAILURE() << error.what() << " in " << text;
    } catch (const Error&) {
      return;
    }
  };
  for (const std::string& text : {whole, packed}) {
    for (size_t size = 0; size < text.size(); ++size) read(text.substr(0, size));
    for (int trial = 0; trial < 300; ++trial) {
      std::string changed = text;
      changed[random() % changed.size()] = static_cast<char>(random());
      read(changed);
    }
  }
}

}  // namespace
}  // namespace snug::testing

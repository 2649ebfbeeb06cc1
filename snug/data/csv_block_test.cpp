// Many records at once, on several threads: the same rows, the same messages.
#include "snug/data/csv_block.h"

#include <gtest/gtest.h>

#include <random>

#include "snug/data/csv.h"
#include "snug/data/csv_cell.h"
#include "snug/data/csv_scan.h"
#include "snug/data/row_encoder.h"
#include "snug/data/source_testing.h"
#include "snug/testing/memory_files.h"

namespace snug::testing {
namespace {

void write(MemoryFiles& files, const Path& path, std::string_view text) {
  files.open(path, OpenMode::write)->append(std::as_bytes(std::span(text)));
}

// Texts with all that a table may hold: blanks, quotes, missing cells, too few and too many cells.
std::string random_table(std::mt19937_64& random, int records) {
  static constexpr const char* kCells[] = {
      "1", "-2.5",  " 3 ",   "1e3",  "?",          "",          "abc", "\"q\"", "red",
      "0", "12345", "7.125", "blue", "\"a\"\"b\"", "\"x,\ny\"", "nan", "red",   "red"};
  std::string text = "a,b,c,d\n";
  for (int i = 0; i < records; ++i) {
    const uint64_t cells = random() % 20 == 0 ? 1 + random() % 6 : 4;
    for (uint64_t c = 0; c < cells; ++c) {
      if (c > 0) text += ',';
      text += random() % 4 != 0 ? std::to_string(random() % 1000)
                                : kCells[random() % std::size(kCells)];
    }
    text += random() % 15 == 0 ? "\r\n" : "\n";
    if (random() % 30 == 0) text += "\n";
  }
  return text;
}

TEST(CsvBlock, BlocksHoldTheRecordsThatComeOneByOne) {
  std::mt19937_64 random(4);
  for (int trial = 0; trial < 6; ++trial) {
    MemoryFiles files;
    write(files, "t.csv", random_table(random, 100'000));
    CsvReader one(files, "t.csv", ','), many(files, "t.csv", ',');
    CsvRecord record, from_block;
    CsvBlock block;
    std::string unquoted;
    int64_t blocks = 0;
    while (many.next_block(block)) {
      ++blocks;
      if (block.plain) block.find_records();
      for (const CsvBlock::Record& part : block.records) {
        ASSERT_TRUE(one.next(record));
        block.split(part, from_block, unquoted);
        ASSERT_EQ(record.cells, from_block.cells);
        ASSERT_EQ(record.text, from_block.text);
        ASSERT_EQ(record.line, from_block.line);
        ASSERT_EQ(record.offset, from_block.offset);
      }
    }
    EXPECT_FALSE(one.next(record));
    EXPECT_GT(blocks, 2);
  }
}

TEST(CsvBlock, AScanDoesNotDependOnTheThreads) {
  std::mt19937_64 random(6);
  MemoryFiles files;
  write(files, "t.csv", random_table(random, 90'000));
  CsvTable table(files, {.files = {"t.csv"}});
  const TableScan one = scan_table(table, {.hashes = true, .threads = 1});
  for (const int threads : {2, 5}) {
    const TableScan scan = scan_table(table, {.hashes = true, .threads = threads});
    EXPECT_EQ(scan.records, one.records);
    EXPECT_EQ(scan.longest_record_line, one.longest_record_line);
    for (size_t i = 0; i < scan.columns.size(); ++i) {
      const ColumnScan &a = scan.columns[i], &b = one.columns[i];
      EXPECT_EQ(a.cells, b.cells);
      EXPECT_EQ(a.missing, b.missing);
      EXPECT_EQ(a.numbers, b.numbers);
      EXPECT_EQ(a.mean(), b.mean()) << "not even in the last bit";
      EXPECT_EQ(a.deviation(), b.deviation());
      EXPECT_EQ(a.hash, b.hash);
      EXPECT_EQ(a.first_text_line, b.first_text_line);
      EXPECT_EQ(a.values.sorted(), b.values.sorted());
      EXPECT_EQ(a.values.count("red"), b.values.count("red"));
    }
  }
}

// A row that encode_row() takes is what encode() makes of it.
TEST(CsvBlock, TheQuickWayPacksTheSame) {
  std::mt19937_64 random(8);
  MemoryFiles files;
  std::string table = random_table(random, 20'000);
  std::erase(table, '"');
  write(files, "t.csv", table);
  Columns columns;
  columns.columns = {
      {.name = "a",
       .use = ColumnUse::standardise,
       .missing = MissingRule::mean,
       .shift = 3,
       .scale = 0.7},
      {.name = "b"},
      {.name = "c", .use = ColumnUse::hash, .missing = MissingRule::category, .buckets = 64},
      {.name = "d", .use = ColumnUse::log, .missing = MissingRule::mean}};
  const RowEncoder encoder(columns);
  CsvReader reader(files, "t.csv", ',');
  CsvBlock block;
  CsvCells cells(4);
  CsvRecord record;
  std::string unquoted;
  int64_t imputed = 0, quick = 0, good = 0;
  std::vector<uint32_t> a(encoder.words()), b(encoder.words());
  while (reader.next_block(block)) {
    block.find_records();
    size_t at = 0;
    for (cells.begin(block); cells.next();) {
      cells.parse();
      for (size_t row = 0; row < std::max<size_t>(1, cells.rows()); ++row, ++at) {
        block.split(block.records[at], record, unquoted);
        const CsvBlock::Record found = cells.rows() > 0 ? cells.record(row) : cells.odd_record();
        ASSERT_EQ(block.text_of(found), record.text);
        ASSERT_EQ(block.first_line + found.line, record.line);
        const bool packs = !encoder.encode(record, false, a, imputed);
        good += packs ? 1 : 0;
        if (cells.rows() == 0 || !encoder.encode_row(cells, row, b)) continue;
        ++quick;
        ASSERT_TRUE(packs) << record.text;
        ASSERT_EQ(a, b) << record.text;
      }
    }
    ASSERT_EQ(at, block.records.size());
  }
  EXPECT_EQ(quick, good);
  EXPECT_GT(quick, 10'000);
}

std::string quarantined(MemoryFiles& files, int threads, std::vector<float>& values) {
  files.remove("rejected.csv");
  data::CsvOptions options{
      .files = {"t.csv"},
      .wishes = {.labels = {"d"}},
      .bad_rows = {.policy = BadRowPolicy::quarantine, .most = 1, .rejected = "rejected.csv"},
      .file_system = &files,
      .threads = threads};
  options.wishes.settings["a"].use = ColumnUse::standardise;
  options.wishes.settings["d"].use = ColumnUse::as_is;
  const data::CsvData data = data::csv(options);
  std::vector<int64_t> rows(static_cast<size_t>(*data.source->rows()));
  std::iota(rows.begin(), rows.end(), 0);
  values = read_rows(*data.source, 0, rows);
  std::string text(static_cast<size_t>(*files.size("rejected.csv")), '\0');
  files.open("rejected.csv", OpenMode::read)
      ->read_exactly_at(std::as_writable_bytes(std::span(text)), 0);
  return text;
}

TEST(CsvBlock, RowsAndRejectedRowsDoNotDependOnTheThreads) {
  std::mt19937_64 random(10);
  MemoryFiles files;
  write(files, "t.csv", random_table(random, 50'000));
  std::vector<float> one, more;
  const std::string rejected = quarantined(files, 1, one);
  EXPECT_GT(rejected.size(), 1000u);
  for (const int threads : {2, 3}) {
    EXPECT_EQ(quarantined(files, threads, more), rejected);
    EXPECT_EQ(more, one);
  }
}

}  // namespace
}  // namespace snug::testing

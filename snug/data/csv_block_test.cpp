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

TEST(CsvBlock, PlainNumbersAreExact) {
  std::mt19937_64 random(2);
  for (int trial = 0; trial < 200'000; ++trial) {
    std::string text = random() % 3 == 0 ? "-" : "";
    for (uint64_t i = 0, n = random() % 12; i < n; ++i)
      text += static_cast<char>('0' + random() % 10);
    if (random() % 2 == 0) text += '.';
    for (uint64_t i = 0, n = random() % 9; i < n; ++i)
      text += static_cast<char>('0' + random() % 10);
    if (random() % 10 == 0) text += "e5x "[random() % 4];
    double value = 0;
    const char* end = plain_number(text.data(), text.data() + text.size(), value);
    if (end != text.data() + text.size()) continue;
    const std::optional<double> expected = number_of(text);
    ASSERT_TRUE(expected) << text;
    EXPECT_EQ(std::bit_cast<uint64_t>(*expected), std::bit_cast<uint64_t>(value)) << text;
  }
  double value = 0;
  for (const std::string_view none : {"", "-", ".", "-.", "1234567890123456", "nan", "+1"}) {
    EXPECT_EQ(plain_number(none.data(), none.data() + none.size(), value), nullptr) << none;
  }
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
    write(files, "t.csv", random_table(random, 60'000));
    CsvReader one(files, "t.csv", ','), many(files, "t.csv", ',');
    CsvRecord record, from_block;
    CsvBlock block;
    std::string unquoted;
    int64_t blocks = 0;
    while (many.next_block(block)) {
      ++blocks;
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
  const TableScan one = scan_table(table, true, 1);
  for (const int threads : {2, 5}) {
    const TableScan scan = scan_table(table, true, threads);
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

// A record that encode_plain() takes is what encode() makes of it.
TEST(CsvBlock, TheQuickWayPacksTheSame) {
  std::mt19937_64 random(8);
  MemoryFiles files;
  write(files, "t.csv", random_table(random, 20'000));
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
  CsvRecord record;
  std::string unquoted;
  int64_t imputed = 0, quick = 0, good = 0;
  std::vector<uint32_t> a(encoder.words()), b(encoder.words());
  while (reader.next_block(block)) {
    for (const CsvBlock::Record& part : block.records) {
      if (part.quotes) continue;
      block.split(part, record, unquoted);
      const bool packs = !encoder.encode(record, false, a, imputed);
      good += packs ? 1 : 0;
      if (!encoder.encode_plain(block.text_of(part), ',', record.line, b)) continue;
      ++quick;
      ASSERT_TRUE(packs) << record.text;
      ASSERT_EQ(a, b) << record.text;
    }
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

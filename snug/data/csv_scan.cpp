#include "snug/data/csv_scan.h"

#include <algorithm>
#include <cstring>

#include "snug/data/csv_block.h"
#include "snug/data/csv_cell.h"

namespace snug {
namespace {

// What one thread finds in a block.
class LaneScan {
 public:
  LaneScan(const CsvTable& table, size_t most_bytes, bool hashes) {
    for (const std::string& name : table.names()) {
      found_.columns.emplace_back(name, most_bytes);
      found_.columns.back().wants_hash = hashes;
    }
  }

  void scan(const CsvBlock& block) {
    for (ColumnScan& column : found_.columns) column.restart();
    found_.records = 0;
    found_.longest_record = 0;
    for (const CsvBlock::Record& record : block.records) {
      ++found_.records;
      const std::string_view text = block.text_of(record);
      if (text.size() > found_.longest_record) {
        found_.longest_record = text.size();
        found_.longest_record_line = block.first_line + record.line;
      }
      add(block, record, text);
    }
  }
  const TableScan& found() const { return found_; }

 private:
  void add(const CsvBlock& block, const CsvBlock::Record& record, std::string_view text) {
    const int64_t line = block.first_line + record.line;
    const auto cells = std::ranges::count(text, block.dialect.delimiter) + 1;
    if (!record.quotes && cells != std::ssize(found_.columns)) return;
    if (!record.quotes) return add_plain(text, line, block.dialect.delimiter);
    block.split(record, record_, unquoted_);
    if (record_.cells.size() != found_.columns.size()) return;
    for (size_t i = 0; i < record_.cells.size(); ++i) {
      found_.columns[i].add(record_.cells[i], line);
    }
  }

  // Most cells are plain numbers, which end where the cell does.
  void add_plain(std::string_view text, int64_t line, char delimiter) {
    const char *at = text.data(), *end = at + text.size();
    for (ColumnScan& column : found_.columns) {
      double number = 0;
      const char* stop = plain_number(at, end, number);
      if (stop != nullptr && (stop == end || *stop == delimiter)) {
        column.add_number(number, {at, static_cast<size_t>(stop - at)}, line);
      } else {
        const void* found = std::memchr(at, delimiter, static_cast<size_t>(end - at));
        stop = found != nullptr ? static_cast<const char*>(found) : end;
        column.add(trimmed_cell(at, stop, delimiter), line);
      }
      at = stop + 1;
    }
  }

  TableScan found_;
  CsvRecord record_;
  std::string unquoted_;
};

void merge(TableScan& whole, const TableScan& block) {
  whole.records += block.records;
  if (block.longest_record > whole.longest_record) {
    whole.longest_record = block.longest_record;
    whole.longest_record_line = block.longest_record_line;
  }
  for (size_t i = 0; i < whole.columns.size(); ++i) whole.columns[i].merge(block.columns[i]);
}

}  // namespace

TableScan scan_table(CsvTable& table, bool hashes, int threads) {
  constexpr size_t kMostBytes = size_t{8} << 20;
  const size_t most = std::min(size_t{256} << 10, kMostBytes / table.names().size());
  TableScan scan;
  for (const std::string& name : table.names()) scan.columns.emplace_back(name, most);
  table.restart();
  CsvBlocks blocks(table, csv_threads(threads));
  std::vector<LaneScan> lanes;
  for (int i = 0; i < blocks.lanes(); ++i) lanes.emplace_back(table, most, hashes);
  const auto work = [&](int lane, const CsvBlock& block) {
    lanes[static_cast<size_t>(lane)].scan(block);
  };
  const auto collect = [&](int lane, const CsvBlock&) {
    merge(scan, lanes[static_cast<size_t>(lane)].found());
  };
  while (blocks.next(work, collect)) continue;
  for (const LaneScan& lane : lanes) {
    for (size_t i = 0; i < scan.columns.size(); ++i) {
      scan.columns[i].values.merge(lane.found().columns[i].values);
    }
  }
  return scan;
}

}  // namespace snug

#include "snug/data/csv_scan.h"

#include <algorithm>

namespace snug {

TableScan scan_table(CsvTable& table) {
  constexpr size_t kMostBytes = size_t{8} << 20;
  TableScan scan;
  const size_t most = std::min(size_t{256} << 10, kMostBytes / table.names().size());
  for (const std::string& name : table.names()) scan.columns.emplace_back(name, most);
  table.restart();
  CsvRecord record;
  while (table.next(record)) {
    ++scan.records;
    if (record.text.size() > scan.longest_record) {
      scan.longest_record = record.text.size();
      scan.longest_record_line = record.line;
    }
    if (record.cells.size() != scan.columns.size()) continue;
    for (size_t i = 0; i < record.cells.size(); ++i) {
      scan.columns[i].add(record.cells[i], record.line);
    }
  }
  return scan;
}

}  // namespace snug

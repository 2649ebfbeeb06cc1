// One pass over a table: what its columns hold.
#pragma once

#include <vector>

#include "snug/data/column_scan.h"
#include "snug/data/csv_table.h"

namespace snug {

struct TableScan {
  std::vector<ColumnScan> columns;
  int64_t records = 0;
  size_t longest_record = 0;  // In bytes, with its line.
  int64_t longest_record_line = 0;
};

// Records with another number of cells than there are columns count, but are not looked into. At
// most 8 MiB a thread are held, however many columns and texts there are. With `hashes`, columns
// that are equal can be told. What is found does not depend on the threads (0: the machine's).
TableScan scan_table(CsvTable& table, bool hashes = false, int threads = 0);

}  // namespace snug

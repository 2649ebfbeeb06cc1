// What is to be known about a table before one trains on it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "snug/data/bad_rows.h"
#include "snug/data/columns.h"
#include "snug/data/csv_scan.h"
#include "snug/data/csv_table.h"

namespace snug {

struct ReportOptions {
  std::vector<std::string> labels;
  const Columns* like = nullptr;  // Rows must be such as those that this was fitted to.
  double tail = 0.2;              // The last rows, which a validation split would take.
  size_t most_listed = 20;        // Bad rows that are listed; all are counted.
};

struct TableReport {
  TableScan scan;
  int64_t bad_rows = 0;
  std::vector<BadRow> listed;
  // What is wrong beside bad rows: a class written in two ways, a class that only one side of a
  // split has.
  std::vector<std::string> wrong;
  // What may be meant so: columns that are empty, always the same or the same as another.
  std::vector<std::string> notes;

  bool is_clean() const { return bad_rows == 0 && wrong.empty(); }
};

// "number", "category", "text" or "empty".
std::string_view kind_of(const ColumnScan& column);

// Goes over the table twice, in fixed memory. Throws as CsvTable does.
TableReport report_on(CsvTable& table, const ReportOptions& options);

}  // namespace snug

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

// Bad rows of one kind: what is wrong with them is the same.
struct BadRowKind {
  std::string column;               // Empty: the row itself.
  std::string problem;              // Of the first of them.
  std::vector<std::string> values;  // Different ones, the first three.
  std::string first;                // Its position: "line 18".
  int64_t rows = 0;

  // "column age is "unknown" or "old", but a number was expected".
  std::string text() const;
};

struct TableReport {
  TableScan scan;
  int64_t bad_rows = 0;
  int64_t imputable = 0;  // Those of them that are good when bad cells count as missing ones.
  std::vector<BadRow> listed;
  std::vector<BadRowKind> kinds;  // The first 20 kinds, the most frequent one first.
  // What is wrong beside bad rows: a class written in two ways, a class that only one side of a
  // split has.
  std::vector<std::string> wrong;
  // What may be meant so: columns that are empty, always the same or the same as another; that
  // there is no header.
  std::vector<std::string> notes;

  bool is_clean() const { return bad_rows == 0 && wrong.empty(); }
};

// "number", "category", "text" or "empty".
std::string_view kind_of(const ColumnScan& column);

// Goes over the table twice, in fixed memory. Throws as CsvTable does.
TableReport report_on(CsvTable& table, const ReportOptions& options);

}  // namespace snug

// One pass over a table: what its columns hold.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "snug/data/column_scan.h"
#include "snug/data/csv_table.h"
#include "snug/tensor/arena.h"

namespace snug {

// The numbers of a whole table, piece by piece.
struct TableNumbers {
  struct Piece {
    std::span<const double> values;  // Row after row; NaN where a cell is missing.
    int64_t first_line = 0;          // Rows stand in neighbouring lines.
    int file = 0;
  };
  std::vector<Piece> pieces;
  std::vector<Arena> memory;  // Where they stand.
  int64_t rows = 0;
};

struct TableScan {
  std::vector<ColumnScan> columns;
  int64_t records = 0;
  size_t longest_record = 0;  // In bytes, with its line.
  int64_t longest_record_line = 0;
  // Where there was room for them, every record has all cells and every cell is a number or
  // missing.
  std::optional<TableNumbers> numbers;
};

struct TableScanOptions {
  bool hashes = false;  // Columns that are equal can be told.
  // The different values of columns of numbers are counted too; if not, only where their names
  // stand here.
  bool values_of_numbers = true;
  std::vector<std::string> values_of;
  std::vector<std::string> labels;      // Their texts have room before those of others.
  std::vector<std::string> medians_of;  // Columns with a sketch.
  size_t most_number_bytes = 0;         // What `numbers` may take.
  int threads = 0;                      // 0: the machine's.
};

// Records with another number of cells than there are columns count, but are not looked into. At
// most 8 MiB a thread are held, however many columns and texts there are, and the numbers; the
// first 4096 rows of columns of whole numbers that may all differ are read again. What is found
// does not depend on the threads.
TableScan scan_table(CsvTable& table, const TableScanOptions& options = {});

}  // namespace snug

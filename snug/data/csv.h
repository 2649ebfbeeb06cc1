// Rows of CSV and TSV files, encoded column by column as columns.h says.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "snug/data/bad_rows.h"
#include "snug/data/columns.h"
#include "snug/data/csv_table.h"
#include "snug/data/source.h"

namespace snug::data {

struct CsvOptions {
  std::vector<Path> files;  // With the same columns; their rows follow one another.
  ColumnWishes wishes;
  std::optional<bool> header;  // See CsvTableOptions; with `like`, see header_like().
  char delimiter = 0;
  // Another file of the same kind is read as this one was: validation, prediction. `wishes` is then
  // without meaning, columns are found by their names, and labels may be absent.
  const Columns* like = nullptr;
  BadRowOptions bad_rows;
  // A folder for packed rows that are too many for memory, found again by later runs. Without it,
  // or where its disk has no room, rows are parsed each time they are read.
  Path cache;
  int64_t most_in_memory = int64_t{16} << 20;
  FileSystem* file_system = nullptr;  // Null: the machine's own.
  int threads = 0;                    // That parse; 0: as many as the machine has, up to 8.
};

struct CsvData {
  SourcePtr source;
  Columns columns;       // As they were chosen and fitted.
  int64_t bad_rows = 0;  // Left out by skip and quarantine.
  int64_t imputed = 0;   // Cells that impute has made missing.
};

// Whether the first line of the files is a header: as the options say, or as `like` has it, where
// its columns are named there; one of another kind may still be one if it is no row. Nullopt: it is
// to be found out.
std::optional<bool> header_like(FileSystem& files, const CsvOptions& options);

// The columns of `like` as this table has them, with the positions at which `like` reads them;
// those that it does not know are dropped, labels and weights may be absent. Throws DataError when
// an input is.
Columns columns_like(const Columns& like, const CsvTable& table);

// Throws Error where a column is wished for by a name that stands in the first record, which was
// not taken for a header: says why not.
void check_header(const CsvTable& table, const ColumnWishes& wishes);

// Goes over the files once to learn what the columns hold and once to encode the rows, in fixed
// memory; nothing but the packed rows is kept. So every bad row is known before the first step.
// Throws DataError that names file, line, column, value and what was expected; Error for a column
// that is not there; FileError. The source has random access; messages name lines.
CsvData csv(const CsvOptions& options);

}  // namespace snug::data

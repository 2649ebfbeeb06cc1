// CSV files in memory, for tests.
#pragma once

#include <string>
#include <vector>

#include "snug/data/csv.h"
#include "snug/data/csv_reader.h"
#include "snug/testing/memory_files.h"

namespace snug::testing {

using Table = std::vector<std::vector<std::string>>;

inline Table cells_of(CsvReader& reader) {
  Table table;
  CsvRecord record;
  while (reader.next(record)) table.emplace_back(record.cells.begin(), record.cells.end());
  return table;
}

// A file system with one file, "t.csv".
class CsvFile {
 public:
  explicit CsvFile(std::string_view text) { write_text(files, "t.csv", text); }

  data::CsvOptions options(const std::vector<std::string>& labels = {}) {
    data::CsvOptions options;
    options.files = {"t.csv"};
    options.wishes.labels = labels;
    options.file_system = &files;
    return options;
  }

  MemoryFiles files;
};

}  // namespace snug::testing

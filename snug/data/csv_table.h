// One or more CSV files with the same columns as one sequence of records.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "snug/data/csv_reader.h"

namespace snug {

struct CsvTableOptions {
  std::vector<Path> files;
  std::optional<bool> header;  // Nullopt: the first record is one where none of its cells is a
                               // number, no two are the same and at most the first, that of an
                               // index, and the last are empty.
  char delimiter = 0;          // 0: found in the first line.
};

// Where a record stands.
struct CsvPlace {
  int file = 0;
  int64_t offset = 0;
  int64_t line = 0;
};

class CsvTable {
 public:
  // Reads the first record of the first file. Throws FileError; DataError for a file without a
  // record, for one whose first record is in quotes to its end, for two columns of one name (where
  // these stand above numbers or are said to be a header), and when a later file has another
  // header.
  CsvTable(FileSystem& files, CsvTableOptions options);

  // Of the columns; "0", "1", ... without a header.
  const std::vector<std::string>& names() const { return names_; }
  bool has_header() const { return has_header_; }
  // Why the first record, which has a cell of this name, was not taken for a header, and what to do
  // about it; else empty.
  std::string why_no_header(std::string_view name) const;
  // Why the first record was taken for a row: "\"39\" is a number"; empty where it was not, or
  // where that was said.
  std::string why_a_row() const;
  char delimiter() const { return reader_->dialect().delimiter; }

  // The next record of the table, headers left out; false at the end.
  bool next(CsvRecord& record);
  // The next records of one file, headers left out; false at the end.
  bool next_block(CsvBlock& block);
  void restart();
  // To a record that was read before; throws DataError in a compressed file.
  void seek(const CsvPlace& place);

  CsvPlace place(const CsvRecord& record) const { return {file_, record.offset, record.line}; }
  const std::string& file_name() const { return reader_->name(); }
  std::string file_name(int file) const {
    return options_.files[static_cast<size_t>(file)].string();
  }
  const std::vector<Path>& paths() const { return options_.files; }
  bool is_compressed() const { return reader_->is_compressed(); }
  size_t buffer_bytes() const { return reader_->buffer_bytes(); }

 private:
  void open(int file);
  void read_header(CsvRecord& record);

  FileSystem& files_;
  CsvTableOptions options_;
  std::vector<std::string> names_;
  bool has_header_ = true;
  std::vector<std::string> first_cells_;  // Where they were not taken for a header.
  int file_ = 0;
  std::unique_ptr<CsvReader> reader_;
};

// When a file was changed, in ticks; 0 where that is not known.
int64_t time_of_change(const Path& path);

// What tells whether the files are still the same: paths, sizes, times of change and a hash of
// their first and last bytes.
std::string identity_of(FileSystem& files, const std::vector<Path>& paths);

}  // namespace snug

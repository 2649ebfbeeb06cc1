// Rows of a text file that are parsed each time they are read, for where nothing can be kept.
#pragma once

#include <vector>

#include "snug/data/csv_table.h"
#include "snug/data/packed_rows.h"
#include "snug/data/row_encoder.h"

namespace snug {

// The places of every so many good rows: of more as long as they are few, so that the memory does
// not grow with the rows.
class SampledIndex {
 public:
  // At most this many places; a power of two.
  explicit SampledIndex(size_t most = size_t{32} << 10) : most_(most) {}

  // The next row's.
  void add(const CsvPlace& place);
  int64_t rows() const { return rows_; }
  struct Sample {
    int64_t row = 0;
    CsvPlace place;
  };
  // The last one that is not behind `row`.
  Sample before(int64_t row) const;
  size_t bytes() const { return places_.capacity() * sizeof(CsvPlace); }

 private:
  size_t most_;
  int64_t stride_ = 1;
  int64_t rows_ = 0;
  std::vector<CsvPlace> places_;
};

class ParsedRows final : public PackedRows {
 public:
  ParsedRows(FileSystem& files, const CsvTableOptions& table, const Columns& columns,
             SampledIndex index, bool impute);

  // From the sample before the first row on, or from where the last call ended. Throws FileError
  // when the rows are no longer what they were.
  void read(int64_t first, std::span<uint32_t> rows) override;
  bool is_shared() const override { return false; }
  void check() override;
  size_t buffer_bytes() const override { return index_.bytes() + table_.buffer_bytes(); }

 private:
  // The next good row to `row`.
  void parse_next(std::span<uint32_t> row);

  FileSystem& files_;
  CsvTable table_;
  RowEncoder encoder_;
  SampledIndex index_;
  bool impute_;
  std::string identity_;
  CsvRecord record_;
  int64_t imputed_ = 0;           // Not looked at: it was counted when the rows were packed.
  std::vector<uint32_t> passed_;  // A row that is only passed over.
  int64_t next_ = -1;             // The row that the table stands before; -1: not known.
};

}  // namespace snug

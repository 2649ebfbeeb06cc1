// Rows that stand inside the quotes of another one, since its closing quote is missing.
#pragma once

#include <array>
#include <string>

#include "snug/data/csv_reader.h"
#include "snug/data/row_encoder.h"

namespace snug {

// The cells of a table that have swallowed rows: numbers alone, so that they take fixed room.
class SwallowedRows {
 public:
  SwallowedRows() = default;
  // What the record holds in quotes, of which nearly every line is a row as the encoder knows them:
  // it has their cells, numbers where these have numbers, and a number or a category that is known
  // (but of many columns, whose number says enough). A quote that is never closed is a bad row,
  // which says so by itself.
  SwallowedRows(const CsvRecord& record, const RowEncoder& encoder, char delimiter);

  bool any() const { return records_ > 0; }
  // What stands behind a closing quote shows that it was to open a cell. Else the cell may be meant
  // so.
  bool is_sure() const { return sure_; }
  // Those of a later piece, of this file.
  void merge(const SwallowedRows& later, int file);
  // That of which text() tells.
  size_t file() const { return static_cast<size_t>(file_); }
  // "t.csv: line 111: the quoted cell runs on for 100 lines; ..."; empty where there are none.
  std::string text(const std::string& file) const;

  using Numbers = std::array<int64_t, 5>;
  Numbers numbers() const { return {records_, file_, line_, lines_, sure_ ? 1 : 0}; }
  explicit SwallowedRows(const Numbers& numbers);

 private:
  int64_t records_ = 0;
  int64_t file_ = 0, line_ = 0, lines_ = 0;  // Of the first one, of those that are sure if any is.
  bool sure_ = false;
};

}  // namespace snug

// Rows that stand inside the quotes of another one, since its closing quote is missing.
#pragma once

#include <string>

#include "snug/data/csv_reader.h"

namespace snug {

class SwallowedRows {
 public:
  SwallowedRows(char delimiter, size_t columns) : delimiter_(delimiter), columns_(columns) {}

  void clear() { records_ = 0; }
  // How many rows the record stands for: 1, or its lines where it has swallowed others.
  int64_t add(const CsvRecord& record);
  // Those of a later piece, of this file.
  void merge(const SwallowedRows& later, const std::string& file);
  // "t.csv: line 111: the quoted cell runs on for 100 lines; ..."; empty where there are none.
  std::string text() const;

 private:
  char delimiter_;
  size_t columns_;
  int64_t records_ = 0;
  int64_t line_ = 0, lines_ = 0;  // Of the first one.
  std::string file_;
};

}  // namespace snug

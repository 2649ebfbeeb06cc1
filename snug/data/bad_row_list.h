// The bad rows of a piece of a table, in little memory, until it is their turn to be counted.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "snug/data/bad_rows.h"
#include "snug/data/row_encoder.h"

namespace snug {

// What quarantine writes down of each takes the bytes of its record and some thirty more; of other
// policies only the first row is kept.
class BadRowList {
 public:
  void clear();
  void add(const RowProblem& problem, const CsvRecord& record, BadRowPolicy policy);
  int64_t count() const { return count_; }
  // Hands all of them on, as rows of this file with columns of these names.
  void give(const std::string& file, const std::vector<std::string>& names, BadRows& to) const;
  size_t bytes() const { return text_.capacity() + rows_.capacity() * sizeof(Row); }

 private:
  // A stretch of the text.
  struct Part {
    uint32_t begin = 0, end = 0;
  };
  struct Row {
    uint32_t line = 0;
    int column = -1;
    Part value, record, problem;
  };
  Part keep(std::string_view text);
  std::string_view text_of(const Part& part) const;

  int64_t count_ = 0;
  std::vector<Row> rows_;
  std::string text_;
};

}  // namespace snug

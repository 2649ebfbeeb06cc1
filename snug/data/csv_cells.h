// The cells of a block without quotes as numbers, some thousands at a time.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "snug/data/csv_reader.h"

namespace snug {

// Goes over a block: rows that have as many cells as there are columns come together, any other
// line that is not blank comes alone.
class CsvCells {
 public:
  explicit CsvCells(size_t columns) : columns_(columns) {}

  // A plain block, whose delimiter is no blank.
  static bool can_read(const CsvBlock& block) {
    return block.plain && block.dialect.delimiter != ' ';
  }
  void begin(const CsvBlock& block);
  // The next rows, or a line (rows() is then 0); false at the end.
  bool next();

  size_t rows() const { return rows_; }
  // Finds the numbers of these rows, rows() times as many as there are columns; those of a row one
  // after the other, NaN where a cell is no plain number. They are written to `to`, or to a buffer
  // of its own.
  void parse(std::span<double> to);
  void parse();
  std::span<double> values() { return values_; }
  std::span<const double> row(size_t row) const {
    return values_.subspan(row * columns_, columns_);
  }
  bool has_others() const { return others_ > 0; }  // Than plain numbers.
  // Without the blanks around it.
  std::string_view cell(size_t row, size_t column) const;
  CsvBlock::Record record(size_t row) const;
  int64_t line(size_t row) const { return block_->first_line + static_cast<int64_t>(line_ + row); }
  // The line that came alone.
  CsvBlock::Record odd_record() const { return record_of(line_in_window_); }

 private:
  bool find_lines();
  size_t cells_before(size_t line) const { return line == 0 ? 0 : cells_to_[line - 1]; }
  bool is_row(size_t line) const;
  bool is_blank(size_t line) const;
  size_t begin_of(size_t cell) const { return cell == 0 ? 0 : size_t{ends_[cell - 1]} + 1; }
  CsvBlock::Record record_of(size_t line) const;

  size_t columns_;
  const CsvBlock* block_ = nullptr;
  const char* text_ = nullptr;   // Of the window, a piece of the block.
  size_t at_ = 0, next_at_ = 0;  // Where the window begins in the block, and the next one.
  size_t lines_ = 0;             // Of the window.
  size_t line_in_window_ = 0;    // The first of those that next() has given.
  size_t next_line_ = 0;         // In the window.
  size_t line_ = 0, first_ = 0;  // The same line in the block; the window's first one.
  size_t rows_ = 0, others_ = 0;
  std::vector<uint32_t> ends_, cells_to_;
  std::vector<double> own_;
  std::span<double> values_;
};

}  // namespace snug

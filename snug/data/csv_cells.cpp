#include "snug/data/csv_cells.h"

#include <algorithm>

#include "snug/base/error.h"

namespace snug {
namespace {

constexpr size_t kWindowBytes = 16 << 10;  // Its cells stay in the first two caches.

}  // namespace

void CsvCells::begin(const CsvBlock& block) {
  SNUG_CHECK(can_read(block));
  block_ = &block;
  next_at_ = at_ = 0;
  lines_ = next_line_ = 0;
  line_ = first_ = 0;
}

// The next window: whole lines, at least one.
bool CsvCells::find_lines() {
  first_ += lines_;
  lines_ = next_line_ = 0;
  at_ = next_at_;
  const std::string_view text = block_->text().substr(at_);
  text_ = text.data();
  for (size_t window = kWindowBytes; lines_ == 0 && !text.empty(); window *= 2) {
    const size_t size = std::min(window, text.size());
    const size_t room = size + kernels::kTextPadding;
    if (ends_.size() < room) {
      ends_.resize(room);
      cells_to_.resize(room);
    }
    const CsvDialect& dialect = block_->dialect;
    lines_ = kernels::find_cells(text_, size, dialect.delimiter, dialect.newline, ends_.data(),
                                 cells_to_.data())
                 .lines;
  }
  if (lines_ > 0) next_at_ = at_ + begin_of(cells_to_[lines_ - 1]);
  return lines_ > 0;
}

bool CsvCells::is_blank(size_t line) const {
  const CsvBlock::Record record = record_of(line);
  const std::string_view text = block_->text_of(record);
  return trimmed_cell(text.data(), text.data() + text.size(), block_->dialect.delimiter).empty();
}

// A blank line is one cell, but no row.
bool CsvCells::is_row(size_t line) const {
  return cells_to_[line] - cells_before(line) == columns_ && (columns_ > 1 || !is_blank(line));
}

bool CsvCells::next() {
  rows_ = others_ = 0;
  while (true) {
    if (next_line_ == lines_ && !find_lines()) return false;
    line_in_window_ = next_line_;
    line_ = first_ + next_line_;
    while (next_line_ < lines_ && is_row(next_line_)) ++next_line_;
    rows_ = next_line_ - line_in_window_;
    if (rows_ > 0) return true;
    ++next_line_;
    if (!is_blank(line_in_window_)) return true;
  }
}

void CsvCells::parse(std::span<double> to) {
  SNUG_CHECK(to.size() == rows_ * columns_);
  values_ = to;
  const size_t cell = cells_before(line_in_window_);
  others_ =
      kernels::parse_decimals(text_, begin_of(cell), ends_.data() + cell, to.size(), to.data());
}

void CsvCells::parse() {
  own_.resize(std::max(own_.size(), rows_ * columns_));
  parse(std::span(own_).first(rows_ * columns_));
}

std::string_view CsvCells::cell(size_t row, size_t column) const {
  const size_t cell = cells_before(line_in_window_) + row * columns_ + column;
  const size_t from = begin_of(cell);
  size_t to = ends_[cell];
  if (to > from && text_[to] == '\n' && text_[to - 1] == '\r') --to;
  return trimmed_cell(text_ + from, text_ + to, block_->dialect.delimiter);
}

CsvBlock::Record CsvCells::record_of(size_t line) const {
  const size_t from = begin_of(cells_before(line));
  size_t to = ends_[cells_to_[line] - 1];
  if (to > from && text_[to] == '\n' && text_[to - 1] == '\r') --to;
  return {.begin = static_cast<uint32_t>(at_ + from),
          .end = static_cast<uint32_t>(at_ + to),
          .line = static_cast<uint32_t>(first_ + line),
          .quotes = false,
          .open_quote = false};
}

CsvBlock::Record CsvCells::record(size_t row) const { return record_of(line_in_window_ + row); }

}  // namespace snug

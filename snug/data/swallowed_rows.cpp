#include "snug/data/swallowed_rows.h"

#include <algorithm>

#include "snug/base/error.h"

namespace snug {

// A long text has lines too, but not the delimiters of so many rows. A quote that is never closed
// is a bad row, which says so by itself.
int64_t SwallowedRows::add(const CsvRecord& record) {
  constexpr int64_t kMany = 10;
  if (record.open_quote) return record.lines;
  // Of a single column nothing tells a text from rows.
  if (record.lines <= kMany || columns_ < 2) return 1;
  const int64_t delimiters = std::ranges::count(record.text, delimiter_);
  if (delimiters < (record.lines - 2) * (static_cast<int64_t>(columns_) - 1)) return 1;
  if (records_++ == 0) {
    line_ = record.line;
    lines_ = record.lines;
  }
  return record.lines;
}

void SwallowedRows::merge(const SwallowedRows& later, const std::string& file) {
  if (records_ == 0 && later.records_ > 0) {
    file_ = file;
    line_ = later.line_;
    lines_ = later.lines_;
  }
  records_ += later.records_;
}

std::string SwallowedRows::text() const {
  if (records_ == 0) return "";
  return fmt::format(
      "{}: line {}: the quoted cell runs on for {} lines{}; is its closing quote missing? Mend the "
      "line",
      file_, line_, lines_,
      records_ == 1 ? "" : fmt::format(", and {} more cells are like it", records_ - 1));
}

}  // namespace snug

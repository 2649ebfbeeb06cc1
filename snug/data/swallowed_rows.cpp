#include "snug/data/swallowed_rows.h"

#include <algorithm>

#include "snug/base/error.h"

namespace snug {
namespace {

// Behind the quote that closes a cell, for text that stands in the cell; npos: there is none. Two
// quotes are one of the cell's own.
size_t behind_quote(std::string_view text, size_t at) {
  while ((at = text.find('"', at)) != std::string_view::npos) {
    if (at + 1 == text.size() || text[at + 1] != '"') return at + 1;
    at += 2;
  }
  return at;
}

// Where the first cell of the line ends. A quote that the line does not close is a letter: if rows
// were swallowed it should not be there, and what follows are cells.
size_t cell_end(std::string_view line, char delimiter) {
  const size_t begin = line.find_first_not_of(delimiter == '\t' ? " " : " \t");
  size_t from = 0;
  if (begin != std::string_view::npos && line[begin] == '"') {
    const size_t closed = behind_quote(line, begin + 1);
    if (closed != std::string_view::npos) from = closed;
  }
  return std::min(line.find(delimiter, from), line.size());
}

std::string_view bare(std::string_view cell, char delimiter) {
  cell = trimmed_cell(cell.data(), cell.data() + cell.size(), delimiter);
  while (cell.starts_with('"')) cell.remove_prefix(1);
  while (cell.ends_with('"')) cell.remove_suffix(1);
  return cell;
}

// Whether the last line of a quoted cell goes on behind the quote that closes it, as no program
// writes it: the quote was to open a cell.
bool goes_on(std::string_view line, char delimiter) {
  const size_t behind = behind_quote(line, 0);
  if (behind >= line.size() || line[behind] == delimiter) return false;
  const std::string_view rest =
      trimmed_cell(line.data() + behind, line.data() + line.size(), delimiter);
  return !rest.empty() && rest[0] != delimiter;
}

// Goes over the lines of a record and says of each whether it is a row by itself.
class Lines {
 public:
  Lines(const CsvRecord& record, const RowEncoder& encoder, char delimiter)
      : rest_(record.text),
        newline_(rest_.find('\n') != std::string_view::npos ? '\n' : '\r'),
        encoder_(encoder),
        delimiter_(delimiter) {}

  std::string_view rest() const { return rest_; }

  Likeness next() {
    // In fewer cells many a sentence has as many commas.
    constexpr size_t kManyColumns = 5;
    split(next_line());
    if (cells_.size() != columns()) return Likeness::none;
    const Likeness likeness = encoder_.likeness(cells_);
    return likeness == Likeness::unclear && columns() >= kManyColumns ? Likeness::plain : likeness;
  }

 private:
  size_t columns() const { return encoder_.columns().columns.size(); }

  std::string_view next_line() {
    const size_t end = std::min(rest_.find(newline_), rest_.size());
    std::string_view line = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    return line;
  }

  // No further than there are too many.
  void split(std::string_view line) {
    cells_.clear();
    while (cells_.size() <= columns()) {
      const size_t end = cell_end(line, delimiter_);
      cells_.push_back(bare(line.substr(0, end), delimiter_));
      if (end == line.size()) return;
      line.remove_prefix(end + 1);
    }
  }

  std::string_view rest_;
  char newline_;
  const RowEncoder& encoder_;
  char delimiter_;
  std::vector<std::string_view> cells_;
};

}  // namespace

SwallowedRows::SwallowedRows(const CsvRecord& record, const RowEncoder& encoder, char delimiter) {
  constexpr int64_t kMany = 10;
  // Of a single column nothing tells a text from rows.
  if (record.open_quote || record.lines <= kMany || encoder.columns().columns.size() < 2) return;
  Lines lines(record, encoder, delimiter);
  const bool first = lines.next() != Likeness::none;
  const int64_t between = record.lines - 2;
  for (int64_t line = 0, others = 0; line < between; ++line) {
    if (lines.next() != Likeness::plain && 10 * ++others > between) return;
  }
  sure_ = goes_on(lines.rest(), delimiter);
  // A table in a cell has lines like those of this one, but one with other cells beside it.
  const bool apart = first && lines.next() != Likeness::none;
  if (!sure_ && !apart) return;
  records_ = 1;
  line_ = record.line;
  lines_ = record.lines;
}

SwallowedRows::SwallowedRows(const Numbers& numbers)
    : records_(numbers[0]),
      file_(numbers[1]),
      line_(numbers[2]),
      lines_(numbers[3]),
      sure_(numbers[4] != 0) {}

void SwallowedRows::merge(const SwallowedRows& later, int file) {
  if (!later.any()) return;
  const int64_t records = records_ + later.records_;
  if (!any() || (later.sure_ && !sure_)) {
    *this = later;
    file_ = file;
  }
  records_ = records;
}

std::string SwallowedRows::text(const std::string& file) const {
  if (!any()) return "";
  const std::string more = records_ == 1 ? ""
                           : records_ == 2
                               ? ", and 1 more cell is like it"
                               : fmt::format(", and {} more cells are like it", records_ - 1);
  return fmt::format(
      "{}: line {}: the quoted cell runs on for {} lines{}; is its closing quote missing? Mend the "
      "line",
      file, line_, lines_, more);
}

}  // namespace snug

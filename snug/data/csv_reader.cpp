#include "snug/data/csv_reader.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>

#include "snug/base/error.h"

namespace snug {
namespace {

constexpr size_t kChunkBytes = size_t{256} << 10, kBlockBytes = size_t{512} << 10;

const char* find_char(const char* from, const char* to, char c) {
  return static_cast<const char*>(std::memchr(from, c, static_cast<size_t>(to - from)));
}

bool is_blank(char c, char delimiter) { return c == ' ' || (c == '\t' && delimiter != '\t'); }

// The one that the first record has most of; what stands in quotes does not count.
char likely_delimiter(std::string_view text, char newline) {
  constexpr std::string_view kDelimiters = ",\t;|";
  std::array<size_t, kDelimiters.size()> counts{};
  bool quoted = false, may_open = true;  // A quote opens a cell where one begins.
  bool blank = true;                     // Nothing has come but blank lines.
  for (const char c : text) {
    blank &= c == newline || c == '\r' || c == ' ';
    if (quoted || (c == '"' && may_open)) {
      quoted = quoted ? c != '"' : true;
      continue;
    }
    if (c == newline && !blank) break;
    const size_t found = kDelimiters.find(c);
    if (found != std::string_view::npos) ++counts[found];
    may_open = found != std::string_view::npos || (may_open && (c == ' ' || blank));
  }
  return kDelimiters[static_cast<size_t>(std::ranges::max_element(counts) - counts.begin())];
}

// What is to be taken apart: where blanks divide cells, several divide like one, and those around
// the record do not.
std::string_view text_with_cells(const CsvRecord& record, char delimiter) {
  const char* begin = record.text.data();
  return delimiter == ' ' ? trimmed_cell(begin, begin + record.text.size(), delimiter)
                          : record.text;
}

void split_plain(CsvRecord& record, char delimiter) {
  record.cells.clear();
  const std::string_view text = text_with_cells(record, delimiter);
  const char *from = text.data(), *to = from + text.size();
  while (true) {
    if (delimiter == ' ') from = trimmed_cell(from, to, delimiter).data();
    const char* stop = from;
    while (stop < to && *stop != delimiter) ++stop;
    record.cells.push_back(trimmed_cell(from, stop, delimiter));
    if (stop == to) return;
    from = stop + 1;
  }
}

void split_quoted(CsvRecord& record, char delimiter, std::string& unquoted) {
  record.cells.clear();
  unquoted.clear();
  unquoted.reserve(record.text.size());  // So that the views into it stay.
  const std::string_view text = text_with_cells(record, delimiter);
  const char *at = text.data(), *to = at + text.size();
  while (true) {
    const char* start = at;
    while (at < to && is_blank(*at, delimiter)) ++at;
    if (at < to && *at == '"') {
      const size_t first = unquoted.size();
      for (++at; at < to; ++at) {
        if (*at == '"' && (at + 1 == to || at[1] != '"')) break;
        if (*at == '"') ++at;
        unquoted += *at;
      }
      if (at < to) ++at;
      const char* rest = at;
      while (at < to && *at != delimiter) ++at;
      unquoted += trimmed_cell(rest, at, delimiter);
      record.cells.push_back(std::string_view(unquoted).substr(first));
    } else {
      while (at < to && *at != delimiter) ++at;
      record.cells.push_back(trimmed_cell(start, at, delimiter));
    }
    if (at == to) return;
    ++at;
  }
}

// What a file that was taken for a table is; empty: it may be one.
std::string_view other_format(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return "";
  std::string start;
  for (const char c : text.substr(begin, 16))
    start += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (start.starts_with("pk\x03\x04"))
    return "a zip file, as an Excel workbook is one too; unpack it, or save the sheet as CSV";
  if (start.starts_with("\xd0\xcf\x11\xe0")) return "an old Excel workbook; save the sheet as CSV";
  if (start.starts_with("\x93numpy")) return "an array of NumPy; give it as an .npy file, unpacked";
  if (start.starts_with("par1")) return "a Parquet file; save it as CSV";
  if (start.starts_with("<!doctype html") || start.starts_with("<html"))
    return "a web page; was the download refused? Download the file itself";
  if (start.starts_with("[{") || start.starts_with("{\"")) return "JSON; save it as CSV";
  return "";
}

// UTF-16 or UTF-32, by its mark or by the zeros beside its first letters; empty: neither.
std::string_view wide_encoding(std::string_view text) {
  using std::string_view_literals::operator""sv;
  if (text.starts_with("\xff\xfe\0\0"sv) || text.starts_with("\0\0\xfe\xff"sv)) return "UTF-32";
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff")) return "UTF-16";
  constexpr size_t kLetters = 4;
  bool first = text.size() >= 2 * kLetters, second = first;
  for (size_t at = 0; at < 2 * kLetters && (first || second); at += 2) {
    first = first && text[at] == 0 && text[at + 1] != 0;
    second = second && text[at] != 0 && text[at + 1] == 0;
  }
  return first || second ? "UTF-16" : "";
}

}  // namespace

std::string_view trimmed_cell(const char* from, const char* to, char delimiter) {
  while (from < to && is_blank(*from, delimiter)) ++from;
  while (from < to && is_blank(to[-1], delimiter)) --to;
  return {from, static_cast<size_t>(to - from)};
}

CsvReader::CsvReader(FileSystem& files, const Path& path, char delimiter)
    : name_(path.string()), bytes_(files, path) {
  refill();
  recognise(delimiter);
}

void CsvReader::recognise(char delimiter) {
  std::string_view text(buffer_.data(), end_);
  if (const std::string_view encoding = wide_encoding(text); !encoding.empty())
    throw DataError("{}: it is written in {}; save it as UTF-8", name_, encoding);
  if (const std::string_view other = other_format(text); !other.empty()) {
    throw DataError("{}: it is no text with columns, but {}", name_, other);
  }
  if (const size_t at = text.substr(0, 4096).find('\0'); at != std::string_view::npos) {
    throw DataError("{}: byte {} is 0, so it is no text with columns; check the path", name_, at);
  }
  skip_byte_order_mark();
  text.remove_prefix(begin_);
  if (text.find('\n') == std::string_view::npos && text.find('\r') != std::string_view::npos) {
    dialect_.newline = '\r';
  }
  dialect_.delimiter = delimiter != 0 ? delimiter : likely_delimiter(text, dialect_.newline);
}

void CsvReader::skip_byte_order_mark() {
  if (!std::string_view(buffer_.data(), end_).starts_with(kByteOrderMark)) return;
  begin_ = kByteOrderMark.size();
  offset_ = static_cast<int64_t>(begin_);
}

void CsvReader::refill() {
  const size_t kept = end_ - begin_;
  if (kept >= kMostRecordBytes) refuse_long_record();
  if (begin_ > 0) std::memmove(buffer_.data(), buffer_.data() + begin_, kept);
  begin_ = 0;
  end_ = kept;
  const size_t wanted = std::min(kMostRecordBytes, std::max(kChunkBytes, 2 * kept));
  if (buffer_.size() < wanted) buffer_.resize(wanted);
  const std::span<char> room = std::span(buffer_).subspan(kept);
  const size_t count = bytes_.read(std::as_writable_bytes(room));
  end_ += count;
  at_end_ = count < room.size();
}

void CsvReader::refuse_long_record() const {
  throw DataError(
      "{}: the record that begins in line {} has more than {} bytes; is a quote never closed, or "
      "is "
      "it no text with lines? Mend it, or give rows of so many numbers as an .npy file",
      name_, line_, kMostRecordBytes);
}

CsvReader::End CsvReader::end_at(size_t text, bool has_newline) const {
  const bool cut = text > begin_ && dialect_.newline == '\n' && buffer_[text - 1] == '\r';
  return {.text = cut ? text - 1 : text, .next = has_newline ? text + 1 : text};
}

std::optional<CsvReader::End> CsvReader::find_end() const {
  const char *from = buffer_.data() + begin_, *to = buffer_.data() + end_;
  const char* newline = find_char(from, to, dialect_.newline);
  const char* stop = newline != nullptr ? newline : to;
  if (find_char(from, stop, '"') != nullptr) return find_quoted_end();
  if (newline == nullptr && !at_end_) return std::nullopt;
  return end_at(static_cast<size_t>(stop - buffer_.data()), newline != nullptr);
}

// Cell by cell, because a quote means something only where a cell begins.
std::optional<CsvReader::End> CsvReader::find_quoted_end() const {
  const char *at = buffer_.data() + begin_, *to = buffer_.data() + end_;
  int64_t lines = 1;
  while (true) {
    while (at < to && is_blank(*at, dialect_.delimiter)) ++at;
    if (at < to && *at == '"') {
      ++at;
      // Up to the quote that closes the cell: two of them are one of the cell's own.
      while (true) {
        const char* quote = at < to ? find_char(at, to, '"') : nullptr;
        if ((quote == nullptr || quote + 1 == to) && !at_end_) return std::nullopt;
        lines += std::count(at, quote != nullptr ? quote : to, dialect_.newline);
        if (quote == nullptr) {
          End end = end_at(end_, false);
          end.lines = lines - (to[-1] == dialect_.newline ? 1 : 0);
          end.quotes = end.open_quote = true;
          return end;
        }
        at = quote + 1;
        if (at == to || *at != '"') break;
        ++at;
      }
    }
    while (at < to && *at != dialect_.delimiter && *at != dialect_.newline) ++at;
    if (at == to && !at_end_) return std::nullopt;
    if (at == to || *at == dialect_.newline) break;
    ++at;
  }
  End end = end_at(static_cast<size_t>(at - buffer_.data()), at < to);
  end.lines = lines;
  end.quotes = true;
  return end;
}

bool CsvReader::is_blank_record(size_t end) const {
  return trimmed_cell(buffer_.data() + begin_, buffer_.data() + end, dialect_.delimiter).empty();
}

bool CsvReader::next(CsvRecord& record) {
  while (true) {
    if (begin_ == end_ && at_end_) return false;
    const std::optional<End> end = find_end();
    if (!end) {
      refill();
      continue;
    }
    record.offset = offset_;
    record.line = line_;
    record.lines = end->lines;
    record.text = {buffer_.data() + begin_, end->text - begin_};
    record.open_quote = end->open_quote;
    const bool blank = is_blank_record(end->text);
    offset_ += static_cast<int64_t>(end->next - begin_);
    line_ += end->lines;
    begin_ = end->next;
    if (blank) continue;
    if (end->quotes) {
      split_quoted(record, dialect_.delimiter, unquoted_);
    } else {
      split_plain(record, dialect_.delimiter);
    }
    return true;
  }
}

bool CsvReader::next_block(CsvBlock& block) {
  block.records.clear();
  block.dialect = dialect_;
  if (plain_block(block)) return !block.text().empty();
  while (block.records.empty()) {
    if (begin_ == end_ && at_end_) return false;
    quoted_block(block);
  }
  return true;
}

bool CsvReader::plain_block(CsvBlock& block) {
  size_t size = end_ - begin_, whole = 0, lines = 0;
  std::span<char> text = block.resize(std::max(kBlockBytes, size));
  std::copy_n(buffer_.begin() + static_cast<int64_t>(begin_), size, text.begin());
  begin_ = end_ = 0;
  while (whole == 0) {
    const size_t count = at_end_ ? 0 : bytes_.read(std::as_writable_bytes(text.subspan(size)));
    at_end_ |= count < text.size() - size;
    size += count;
    const auto [newlines, quotes] = kernels::count_bytes(text.data(), size, dialect_.newline, '"');
    if (quotes > 0) {
      buffer_.resize(std::max(buffer_.size(), size));
      std::copy_n(text.begin(), size, buffer_.begin());
      end_ = size;
      return false;
    }
    lines = newlines;
    const void* last = memrchr(text.data(), dialect_.newline, size);
    if (last != nullptr)
      whole = static_cast<size_t>(static_cast<const char*>(last) - text.data()) + 1;
    if (at_end_) break;
    if (whole == 0 && size >= kMostRecordBytes) refuse_long_record();
    if (whole == 0) text = block.resize(2 * size);
  }
  if (at_end_ && whole < size) {
    block.resize(size + 1)[size] = dialect_.newline;
    whole = ++size;
    ++lines;
  }
  buffer_.resize(std::max(buffer_.size(), size - whole));
  std::copy_n(text.data() + whole, size - whole, buffer_.begin());
  end_ = size - whole;
  block.resize(whole);
  finish_block(block, lines);
  block.plain = true;
  return true;
}

// The block begins where the reader stands, which goes behind it.
void CsvReader::finish_block(CsvBlock& block, size_t lines) {
  block.offset = offset_;
  block.first_line = line_;
  offset_ += std::ssize(block.text());
  line_ += static_cast<int64_t>(lines);
}

void CsvReader::quoted_block(CsvBlock& block) {
  if (begin_ == end_ || !find_end()) refill();
  const size_t first = begin_;
  uint32_t line = 0;
  while (begin_ < end_) {
    const std::optional<End> end = find_end();
    if (!end) break;
    if (!is_blank_record(end->text)) {
      block.records.push_back({.begin = static_cast<uint32_t>(begin_ - first),
                               .end = static_cast<uint32_t>(end->text - first),
                               .line = line,
                               .lines = static_cast<uint32_t>(end->lines),
                               .quotes = end->quotes,
                               .open_quote = end->open_quote});
    }
    line += static_cast<uint32_t>(end->lines);
    begin_ = end->next;
  }
  std::copy(buffer_.begin() + static_cast<int64_t>(first),
            buffer_.begin() + static_cast<int64_t>(begin_), block.resize(begin_ - first).begin());
  finish_block(block, line);
  block.plain = false;
}

std::span<char> CsvBlock::resize(size_t size) {
  bytes_.resize(std::max(bytes_.size(), size + 2 * kernels::kTextPadding));
  size_ = size;
  return std::span(bytes_).subspan(kernels::kTextPadding, size);
}

void CsvBlock::find_records() {
  records.clear();
  const std::string_view all = text();
  uint32_t line = 0;
  for (size_t at = 0, next = 0; at < all.size(); at = next, ++line) {
    const size_t newline = all.find(dialect.newline, at);
    next = newline + 1;
    const bool cut = newline > at && dialect.newline == '\n' && all[newline - 1] == '\r';
    const size_t end = newline - (cut ? 1 : 0);
    if (trimmed_cell(all.data() + at, all.data() + end, dialect.delimiter).empty()) continue;
    records.push_back({.begin = static_cast<uint32_t>(at),
                       .end = static_cast<uint32_t>(end),
                       .line = line,
                       .quotes = false,
                       .open_quote = false});
  }
}

void CsvBlock::split(const Record& record, CsvRecord& into, std::string& unquoted) const {
  into.offset = offset + record.begin;
  into.line = first_line + record.line;
  into.lines = record.lines;
  into.text = text_of(record);
  into.open_quote = record.open_quote;
  if (record.quotes) {
    split_quoted(into, dialect.delimiter, unquoted);
  } else {
    split_plain(into, dialect.delimiter);
  }
}

void CsvReader::restart() {
  seek(0, 1);
  refill();
  skip_byte_order_mark();
}

void CsvReader::seek(int64_t offset, int64_t line) {
  bytes_.seek(offset);
  begin_ = end_ = 0;
  offset_ = offset;
  line_ = line;
  at_end_ = false;
}

}  // namespace snug

// The records of a text file with columns (CSV, TSV), one at a time, in fixed memory.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "snug/data/byte_reader.h"
#include "snug/kernels/decimal.h"

namespace snug {

// What is left open is found in the first bytes of the file.
struct CsvDialect {
  char delimiter = ',';
  char newline = '\n';  // '\r' for files of old Macs; "\r\n" ends with '\n'.
};

// A cell without the blanks around it.
std::string_view trimmed_cell(const char* from, const char* to, char delimiter);

// One record: what stands between two line ends, those inside quotes apart.
struct CsvRecord {
  int64_t offset = 0;  // Of its first byte in the file, inflated.
  int64_t line = 0;    // Of its first line, counted from 1.
  int64_t lines = 1;   // That it stands on.
  // Without quotes and without the blanks around; valid until the next record is read.
  std::vector<std::string_view> cells;
  std::string_view text;    // As it stands in the file, without its line end.
  bool open_quote = false;  // The file ended inside quotes.

  // That it stands for: a quote that is never closed has taken all those behind it.
  int64_t rows() const { return open_quote ? lines : 1; }
};

// Records that stand one after the other, not taken apart yet.
class CsvBlock {
 public:
  struct Record {
    uint32_t begin = 0, end = 0;  // In the text; without the line end.
    uint32_t line = 0;            // Behind first_line.
    uint32_t lines = 1;
    bool quotes = false;
    bool open_quote = false;
  };
  std::vector<Record> records;  // Of a block with quotes; of a plain one after find_records().
  int64_t offset = 0;           // Of the text in the file.
  int64_t first_line = 0;       // Of the text.
  int file = 0;                 // Of a table.
  CsvDialect dialect;
  bool plain = false;  // There is no quote: what ends a line ends a record.

  // There are kernels::kTextPadding bytes of its own before and behind it. The text of a plain
  // block ends with a line end.
  std::string_view text() const { return {bytes_.data() + kernels::kTextPadding, size_}; }
  std::string_view text_of(const Record& record) const {
    return text().substr(record.begin, record.end - record.begin);
  }
  // Of a plain block: fills `records`.
  void find_records();
  // The record with its cells; `unquoted` holds those whose quotes had to be taken out.
  void split(const Record& record, CsvRecord& into, std::string& unquoted) const;

  // Makes room for so many bytes of text, of which the first ones stay.
  std::span<char> resize(size_t size);

 private:
  std::vector<char> bytes_;
  size_t size_ = 0;
};

// Takes quoted cells ("a ""b"", c"), line ends within quotes, CRLF, a byte order mark, empty lines
// (which are passed over) and a last line without an end. A quote inside a cell that does not begin
// with one is a letter like any other.
class CsvReader {
 public:
  static constexpr size_t kMostRecordBytes = size_t{1} << 20;

  // `delimiter` 0: a comma, a tab, a semicolon or a bar, whichever the first record has most of
  // outside of quotes.
  // Throws FileError; DataError for UTF-16 and for files with NUL bytes at their start.
  CsvReader(FileSystem& files, const Path& path, char delimiter = 0);

  // False at the end. Throws DataError, which names file and line, when a record has more than
  // kMostRecordBytes, as when a quote is never closed, and for a damaged compressed file.
  bool next(CsvRecord& record);

  // The same for as many records as half a MiB holds, where there is none that is longer.
  bool next_block(CsvBlock& block);

  // To the first record again.
  void restart();
  // To the start of a record that was read before. Of a plain file.
  void seek(int64_t offset, int64_t line);

  const CsvDialect& dialect() const { return dialect_; }
  const std::string& name() const { return name_; }
  bool is_compressed() const { return bytes_.is_compressed(); }
  int64_t file_bytes() const { return bytes_.file_bytes(); }
  size_t buffer_bytes() const { return buffer_.capacity() + unquoted_.capacity(); }

 private:
  // Where the record that begins at begin_ ends, and the next one begins.
  struct End {
    size_t text = 0;  // Behind its last byte, line end not included.
    size_t next = 0;
    int64_t lines = 1;
    bool quotes = false;
    bool open_quote = false;
  };

  void recognise(char delimiter);
  void skip_byte_order_mark();
  // Nullopt: more bytes are needed.
  std::optional<End> find_end() const;
  std::optional<End> find_quoted_end() const;
  End end_at(size_t text, bool has_newline) const;
  // Brings more bytes behind those that stand from begin_ on.
  void refill();
  [[noreturn]] void refuse_long_record() const;
  // The whole lines of a piece of the file as a plain block; false where it has quotes, all of it
  // is then in the buffer.
  bool plain_block(CsvBlock& block);
  void quoted_block(CsvBlock& block);
  void finish_block(CsvBlock& block, size_t lines);
  bool is_blank_record(size_t end) const;

  std::string name_;
  ByteReader bytes_;
  CsvDialect dialect_;
  std::vector<char> buffer_;
  size_t begin_ = 0, end_ = 0;  // What of the buffer has not been given yet.
  int64_t offset_ = 0;          // Of begin_ in the file.
  int64_t line_ = 1;
  bool at_end_ = false;   // The file has no more bytes than those in the buffer.
  std::string unquoted_;  // Cells whose quotes had to be taken out.
};

}  // namespace snug

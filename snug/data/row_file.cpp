#include "snug/data/row_file.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "snug/base/error.h"
#include "snug/data/random_source.h"
#include "snug/data/stage.h"

namespace snug {
namespace {

class RowFileSource final : public RandomSource {
 public:
  RowFileSource(std::vector<RowFile> files, size_t buffer_bytes)
      : files_(std::move(files)), sizes_(files_.size()) {
    std::vector<Field> fields;
    std::vector<int64_t> rows;
    bool reads = false;
    for (size_t i = 0; i < files_.size(); ++i) {
      fields.push_back(files_[i].field);
      rows.push_back(files_[i].rows);
      held_bytes_ += files_[i].held.size();
      if (files_[i].file == nullptr) continue;
      sizes_[i] = files_[i].file->size();
      reads = true;
    }
    set_fields(std::move(fields), rows);
    if (reads) buffer_.resize(std::max(buffer_bytes, sizeof(double)));
  }

  size_t buffer_bytes() const override { return buffer_.size() + held_bytes_; }

  void begin_pass(uint64_t pass) override {
    for (size_t i = 0; i < files_.size(); ++i) {
      if (files_[i].file == nullptr) continue;
      const int64_t now = files_[i].file->size();
      if (now != sizes_[i]) refuse_change(i, now);
    }
    RandomSource::begin_pass(pass);
  }

  const void* borrow(int field, int64_t first, int64_t count, DType dtype) override {
    const RowFile& rows = files_[field];
    if (rows.file != nullptr || !is_same(rows.field.stored, dtype)) return nullptr;
    if (first + count > rows.rows) return nullptr;
    return rows.held.data() + static_cast<size_t>(first) * rows.field.row_bytes();
  }

 protected:
  void read_run(int field, int64_t first, int64_t count, void* to, DType dtype) override {
    const RowFile& rows = files_[field];
    const int64_t elements = count * rows.field.row.size();
    const size_t start = static_cast<size_t>(first) * rows.field.row_bytes();
    if (rows.file == nullptr) {
      stage_rows(rows.field, {first, 0}, rows.held.data() + start, elements, to, dtype);
    } else if (!rows.swapped && is_same(rows.field.stored, dtype)) {
      const size_t bytes = static_cast<size_t>(elements) * size_of(dtype);
      read_bytes(field, {static_cast<std::byte*>(to), bytes}, start);
      if (dtype == DType::float32) stage_rows(rows.field, {first, 0}, to, elements, to, dtype);
    } else {
      read_in_pieces(field, first, elements, to, dtype);
    }
  }

 private:
  void read_in_pieces(int field, int64_t first, int64_t elements, void* to, DType dtype) {
    const RowFile& rows = files_[field];
    const size_t size = size_of(rows.field.stored);
    const auto piece = static_cast<int64_t>(buffer_.size() / size);
    const size_t start = static_cast<size_t>(first) * rows.field.row_bytes();
    for (int64_t done = 0; done < elements; done += piece) {
      const int64_t count = std::min(piece, elements - done);
      const std::span<std::byte> bytes{buffer_.data(), static_cast<size_t>(count) * size};
      read_bytes(field, bytes, start + static_cast<size_t>(done) * size);
      if (rows.swapped) swap_bytes(bytes, size);
      stage_rows(rows.field, {first, done}, bytes.data(), count,
                 static_cast<std::byte*>(to) + static_cast<size_t>(done) * size_of(dtype), dtype);
    }
  }

  void read_bytes(int field, std::span<std::byte> into, size_t start) {
    const RowFile& rows = files_[field];
    const int64_t offset = rows.offset + static_cast<int64_t>(start);
    const size_t count = rows.file->read_at(into, offset);
    if (count < into.size()) refuse_change(field, offset + static_cast<int64_t>(count));
  }

  [[noreturn]] void refuse_change(size_t field, int64_t now) const {
    throw FileError(
        "{}: it had {} bytes when it was opened and has {} now, so it was changed during the run; "
        "leave the file alone and start again",
        files_[field].file->path().string(), sizes_[field], now);
  }

  std::vector<RowFile> files_;
  std::vector<int64_t> sizes_;  // When they were opened.
  std::vector<std::byte> buffer_;
  size_t held_bytes_ = 0;
};

uint16_t turned(uint16_t word) { return __builtin_bswap16(word); }
uint32_t turned(uint32_t word) { return __builtin_bswap32(word); }
uint64_t turned(uint64_t word) { return __builtin_bswap64(word); }

template <typename Word>
void swap_words(std::span<std::byte> bytes) {
  for (size_t at = 0; at < bytes.size(); at += sizeof(Word)) {
    Word word = 0;
    std::memcpy(&word, bytes.data() + at, sizeof(word));
    word = turned(word);
    std::memcpy(bytes.data() + at, &word, sizeof(word));
  }
}

}  // namespace

static_assert(std::endian::native == std::endian::little);

int64_t bytes_of_rows(const Shape& shape, StoredType stored, std::string_view where) {
  constexpr int64_t kMost = int64_t{1} << 60;
  auto bytes = static_cast<int64_t>(size_of(stored));
  bool empty = false, too_large = false;
  // An extent of 0 hides no overflow of the others: rows without number still have a size.
  for (const Extent extent : shape.extents()) {
    empty |= extent.count == 0;
    too_large |= __builtin_mul_overflow(bytes, std::max<int64_t>(extent.count, 1), &bytes);
    too_large |= bytes > kMost;
    if (too_large) break;
  }
  if (too_large) {
    throw DataError("{}: its header claims the shape {}, more than any file holds; it is damaged",
                    where, shape.text());
  }
  return empty ? 0 : bytes;
}

void check_file_size(const RowFile& rows) {
  const int64_t size = rows.file->size(), row_bytes = static_cast<int64_t>(rows.field.row_bytes());
  const int64_t expected = rows.offset + rows.rows * row_bytes;
  if (size < expected) {
    throw DataError(
        "{}: it is cut off: the header says {} rows of {} bytes, {} bytes in all, but the file has "
        "{} and ends in row {}; copy or save it again",
        rows.field.name, rows.rows, row_bytes, expected, size,
        std::max<int64_t>(0, size - rows.offset) / std::max<int64_t>(1, row_bytes));
  }
  if (size > expected) {
    throw DataError(
        "{}: the header says {} rows of {} bytes, but {} bytes follow the last row; save one array "
        "a file",
        rows.field.name, rows.rows, row_bytes, size - expected);
  }
}

void swap_bytes(std::span<std::byte> elements, size_t size) {
  if (size == 2) swap_words<uint16_t>(elements);
  if (size == 4) swap_words<uint32_t>(elements);
  if (size == 8) swap_words<uint64_t>(elements);
}

SourcePtr row_files(std::vector<RowFile> files, size_t buffer_bytes) {
  return std::make_shared<RowFileSource>(std::move(files), buffer_bytes);
}

}  // namespace snug

#include "snug/data/row_file.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "snug/base/error.h"
#include "snug/data/file_state.h"
#include "snug/data/random_source.h"
#include "snug/data/stage.h"

namespace snug {
namespace {

constexpr int64_t kSmallBytes = int64_t{1} << 20;

// What readers on several threads share.
struct RowFiles {
  std::vector<RowFile> files;
  // As they stand in the file: the rows of fields beside a larger one, as labels are. A request for
  // each of them would take as long as one for the row itself.
  std::vector<std::vector<std::byte>> small;
  std::vector<FileState> states;  // When they were opened.
};

class RowFileSource final : public RandomSource {
 public:
  RowFileSource(std::shared_ptr<const RowFiles> files, size_t buffer_bytes, bool is_twin = false)
      : shared_(std::move(files)), files_(shared_->files), states_(shared_->states) {
    std::vector<Field> fields;
    std::vector<int64_t> rows;
    for (size_t i = 0; i < files_.size(); ++i) {
      fields.push_back(files_[i].field);
      rows.push_back(files_[i].rows);
      held_bytes_ += is_twin ? 0 : files_[i].held.size() + shared_->small[i].size();
      reads_ |= files_[i].file != nullptr;
    }
    set_fields(std::move(fields), rows);
    if (reads_) buffer_.resize(std::max(buffer_bytes, sizeof(double)));
  }

  size_t buffer_bytes() const override { return buffer_.size() + held_bytes_; }
  int64_t batches_ahead() const override { return reads_ ? kAsManyAsHelp : 0; }
  SourcePtr twin() override {
    return std::make_shared<RowFileSource>(shared_, buffer_.size(), /*is_twin=*/true);
  }

  // Rows that come in no order are read in the order of the file, those that stand close together
  // in one request.
  void read(int field, std::span<const int64_t> rows, const Tensor& slot) override {
    if (files_[field].file == nullptr || !shared_->small[field].empty() || rows.size() < 2) {
      return RandomSource::read(field, rows, slot);
    }
    std::array<Wanted, kSortedRows> wanted{};
    for (size_t done = 0; done < rows.size(); done += wanted.size()) {
      const size_t some = std::min(wanted.size(), rows.size() - done);
      for (size_t i = 0; i < some; ++i) {
        wanted[i] = {rows[done + i], static_cast<int64_t>(done + i)};
      }
      read_sorted(field, std::span(wanted).first(some), slot);
    }
  }

  void begin_pass(uint64_t pass) override {
    for (size_t i = 0; i < files_.size(); ++i) {
      if (files_[i].file != nullptr) check_unchanged(*files_[i].file, states_[i]);
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
  static constexpr size_t kSortedRows = 256;
  static constexpr size_t kGapBytes = 4096;  // What is read and not wanted, at most: one page.

  struct Wanted {
    int64_t row = 0;
    int64_t place = 0;  // In the slot.
  };

  void read_sorted(int field, std::span<Wanted> wanted, const Tensor& slot) {
    std::ranges::sort(wanted, {}, &Wanted::row);
    SNUG_CHECK(wanted.front().row >= 0 && wanted.back().row < files_[field].rows);
    const size_t row_bytes = files_[field].field.row_bytes();
    const auto gap = static_cast<int64_t>(kGapBytes / row_bytes) + 1;
    const auto longest = static_cast<int64_t>(buffer_.size() / row_bytes);
    while (!wanted.empty()) {
      size_t count = 1;
      while (count < wanted.size() && wanted[count].row - wanted[count - 1].row <= gap &&
             wanted[count].row - wanted[0].row < longest) {
        ++count;
      }
      read_group(field, wanted.first(count), slot);
      wanted = wanted.subspan(count);
    }
  }

  // Rows that stand close together, in one request.
  void read_group(int field, std::span<const Wanted> group, const Tensor& slot) {
    const Wanted &first = group.front(), &last = group.back();
    const int64_t count = last.row - first.row + 1;
    const bool as_they_stand = count == std::ssize(group) &&
                               last.place - first.place + 1 == count &&
                               std::ranges::is_sorted(group, {}, &Wanted::place);
    if (as_they_stand) {
      return read_run(field, first.row, count, slot_row(field, slot, first.place), slot.dtype());
    }
    const RowFile& rows = files_[field];
    const size_t row_bytes = rows.field.row_bytes(), size = size_of(rows.field.stored);
    const auto bytes = std::span(buffer_).first(static_cast<size_t>(count) * row_bytes);
    read_bytes(field, bytes, static_cast<size_t>(first.row) * row_bytes);
    if (rows.swapped) swap_bytes(bytes, size);
    for (const Wanted& row : group) {
      stage_rows(rows.field, {row.row, 0},
                 bytes.data() + static_cast<size_t>(row.row - first.row) * row_bytes,
                 rows.field.row.size(), slot_row(field, slot, row.place), slot.dtype());
    }
  }

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
    if (const std::vector<std::byte>& small = shared_->small[field]; !small.empty()) {
      std::memcpy(into.data(), small.data() + start, into.size());
      return;
    }
    const int64_t offset = rows.offset + static_cast<int64_t>(start);
    const size_t count = rows.file->read_at(into, offset);
    if (count == into.size()) return;
    check_unchanged(*rows.file, states_[field]);
    throw FileError(
        "{}: it ended at byte {} while it was read; leave the file alone and start again",
        rows.file->path().string(), offset + static_cast<int64_t>(count));
  }

  std::shared_ptr<const RowFiles> shared_;
  const std::vector<RowFile>& files_;
  const std::vector<FileState>& states_;
  bool reads_ = false;  // Not all rows are held.
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
    throw DataError(
        "{}: its header claims the shape {}, more than any file holds; it is damaged: copy "
        "or save it again",
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
  const auto bytes_of = [](const RowFile& file) {
    return file.rows * static_cast<int64_t>(file.field.row_bytes());
  };
  int64_t largest = 0;
  for (const RowFile& file : files) largest = std::max(largest, bytes_of(file));
  RowFiles all{.files = std::move(files), .small = {}, .states = {}};
  for (const RowFile& file : all.files)
    all.states.push_back(file.file == nullptr ? FileState{} : state_of(*file.file));
  all.small.resize(all.files.size());
  for (size_t i = 0; i < all.files.size(); ++i) {
    const RowFile& file = all.files[i];
    const int64_t bytes = bytes_of(file);
    if (file.file == nullptr || bytes > kSmallBytes || bytes >= largest) continue;
    all.small[i].resize(static_cast<size_t>(bytes));
    file.file->read_exactly_at(all.small[i], file.offset);
  }
  return std::make_shared<RowFileSource>(std::make_shared<const RowFiles>(std::move(all)),
                                         buffer_bytes);
}

}  // namespace snug

#include "snug/data/packed_rows.h"

#include <algorithm>
#include <cstring>

#include "snug/base/error.h"

namespace snug {
namespace {

constexpr std::string_view kMagic = "SNUGROWS";
constexpr uint32_t kVersion = 3;
constexpr size_t kBufferWords = size_t{64} << 10;

// As it stands at the start of the file; this machine's byte order, for no other machine reads it.
struct Header {
  char magic[8];
  uint32_t version;
  uint32_t words;
  int64_t rows;
  int64_t description_bytes;
  int64_t offset;
};

}  // namespace

void MemoryRows::read(int64_t first, std::span<uint32_t> rows) {
  std::memcpy(rows.data(), held(first, std::ssize(rows) / static_cast<int64_t>(words_)),
              rows.size_bytes());
}

const uint32_t* MemoryRows::held(int64_t first, int64_t count) const {
  SNUG_CHECK(first >= 0 && static_cast<size_t>(first + count) * words_ <= size_);
  return reinterpret_cast<const uint32_t*>(memory_.data()) + static_cast<size_t>(first) * words_;
}

std::unique_ptr<PackedFile> PackedFile::open(FileSystem& files, const Path& path) {
  if (!files.size(path)) return nullptr;
  auto result = std::make_unique<PackedFile>();
  result->file_ = files.open(path, OpenMode::read);
  const int64_t size = result->file_->size();
  Header header{};
  if (size >= static_cast<int64_t>(sizeof(header))) {
    result->file_->read_exactly_at(std::as_writable_bytes(std::span(&header, 1)), 0);
  }
  const bool plausible =
      std::string_view(header.magic, 8) == kMagic && header.version == kVersion &&
      header.words > 0 && header.rows >= 0 && header.description_bytes >= 0 &&
      header.description_bytes <= size && header.offset >= 0 && header.offset <= size &&
      header.rows <= (size - header.offset) / static_cast<int64_t>(header.words * sizeof(uint32_t));
  if (!plausible) {
    throw CorruptFile("{}: it is no file of packed rows, or is cut off; remove it", path.string());
  }
  result->description_.resize(static_cast<size_t>(header.description_bytes));
  result->file_->read_exactly_at(std::as_writable_bytes(std::span(result->description_)),
                                 sizeof(Header));
  result->rows_ = header.rows;
  result->words_ = header.words;
  result->offset_ = header.offset;
  return result;
}

void PackedFile::read(int64_t first, std::span<uint32_t> rows) {
  SNUG_CHECK(first + static_cast<int64_t>(rows.size() / words_) <= rows_);
  file_->read_exactly_at(std::as_writable_bytes(rows),
                         offset_ + first * static_cast<int64_t>(words_ * sizeof(uint32_t)));
}

void PackedFile::check() {
  const int64_t wanted = offset_ + rows_ * static_cast<int64_t>(words_ * sizeof(uint32_t));
  if (file_->size() >= wanted) return;
  throw FileError(
      "{}: it was cut to {} bytes during the run; leave the cache alone and start again",
      file_->path().string(), file_->size());
}

PackedWriter::PackedWriter(File& file, size_t words, size_t most_description_bytes)
    : file_(file), words_(words) {
  offset_ = static_cast<int64_t>((sizeof(Header) + most_description_bytes + 63) / 64 * 64);
  buffer_.reserve(kBufferWords);
}

void PackedWriter::append(std::span<const uint32_t> rows) {
  if (buffer_.size() + rows.size() > kBufferWords) flush();
  if (rows.size() > kBufferWords) {
    write(rows);
  } else {
    buffer_.insert(buffer_.end(), rows.begin(), rows.end());
  }
}

void PackedWriter::write(std::span<const uint32_t> rows) {
  file_.write_at(std::as_bytes(rows), bytes());
  rows_ += static_cast<int64_t>(rows.size() / words_);
}

void PackedWriter::flush() {
  write(buffer_);
  buffer_.clear();
}

void PackedWriter::finish(std::string_view description) {
  flush();
  Header header{.magic = {},
                .version = kVersion,
                .words = static_cast<uint32_t>(words_),
                .rows = rows_,
                .description_bytes = std::ssize(description),
                .offset = offset_};
  SNUG_CHECK(static_cast<int64_t>(sizeof(header) + description.size()) <= offset_);
  std::ranges::copy(kMagic, header.magic);
  file_.write_at(std::as_bytes(std::span(&header, 1)), 0);
  file_.write_at(std::as_bytes(std::span(description)), sizeof(header));
}

}  // namespace snug

// The rows of a source in one file: "SNUGDATA", the number of rows, a hash of what they depend on,
// and then field after field, each from a multiple of 64 bytes on.

#include <algorithm>
#include <array>
#include <cstring>

#include "snug/base/bytes.h"
#include "snug/base/error.h"
#include "snug/base/random.h"
#include "snug/data/cached.h"
#include "snug/data/dataset.h"
#include "snug/data/row_file.h"
#include "snug/data/slot_rows.h"

namespace snug::data {
namespace {

constexpr int64_t kRoomBytes = int64_t{64} << 20;  // What is left free on the disk.
constexpr size_t kPieceBytes = size_t{1} << 20;

struct Header {
  char magic[8] = {'S', 'N', 'U', 'G', 'D', 'A', 'T', 'A'};
  uint64_t key = 0;
  int64_t rows = 0;
  int64_t file_bytes = 0;
};

int64_t aligned(int64_t bytes) { return (bytes + 63) / 64 * 64; }

// What is stored of a field: bytes of images as bytes.
DType stored_dtype(const Field& field) {
  return field.stored == StoredType::uint8 ? DType::uint8 : held_dtype(field);
}

size_t stored_row_bytes(const Field& field) {
  return static_cast<size_t>(field.row.size()) * size_of(stored_dtype(field));
}

// The rows of a source, block after block, to a file that has one stretch for each field.
class CacheWriter {
 public:
  CacheWriter(Source& source, File& file, FileSystem& files)
      : source_(source), file_(file), files_(files) {
    size_t row = 1;
    for (const Field& field : source.fields()) row += stored_row_bytes(field);
    block_ = std::max<int64_t>(1, static_cast<int64_t>(kPieceBytes / row));
    for (const Field& field : source.fields()) {
      buffers_.emplace_back(static_cast<size_t>(block_) * stored_row_bytes(field));
      Shape shape{block_};
      for (const Extent extent : field.row.extents()) shape.push_back(extent);
      slots_.push_back({{stored_dtype(field), shape}, buffers_.back().data()});
    }
  }

  // Block after block of all fields. Returns how many rows came.
  int64_t write(int64_t rows) {
    source_.begin_pass(0);
    int64_t done = 0;
    for (int64_t some = source_.next(block_, slots_); some > 0;
         some = source_.next(block_, slots_)) {
      if (done + some > rows) throw DataError("cache: the source gave more than its {} rows", rows);
      int64_t offset = aligned(sizeof(Header));
      for (size_t i = 0; i < slots_.size(); ++i) {
        const size_t row = stored_row_bytes(source_.fields()[i]);
        file_.write_at(std::span(buffers_[i]).first(static_cast<size_t>(some) * row),
                       offset + done * static_cast<int64_t>(row));
        offset = aligned(offset + rows * static_cast<int64_t>(row));
      }
      done += some;
      check_room();
    }
    return done;
  }

 private:
  void check_room() const {
    const Path folder = file_.path().parent_path();
    if (files_.free_bytes(folder.empty() ? Path(".") : folder) >= kRoomBytes) return;
    throw FileError("{}: its disk has no room for the cache; free some, or cache in memory",
                    file_.path().string());
  }

  Source& source_;
  File& file_;
  FileSystem& files_;
  int64_t block_ = 1;
  std::vector<std::vector<std::byte>> buffers_;
  std::vector<Tensor> slots_;
};

int64_t whole_bytes(const std::vector<Field>& fields, int64_t rows) {
  int64_t offset = aligned(sizeof(Header));
  for (const Field& field : fields) {
    offset = aligned(offset + rows * static_cast<int64_t>(stored_row_bytes(field)));
  }
  return offset;
}

// Nullopt: there is no such file, or one of other rows.
std::optional<Header> read_header(FileSystem& files, const Path& path, uint64_t key) {
  const std::optional<int64_t> size = files.size(path);
  if (!size || *size < static_cast<int64_t>(sizeof(Header))) return std::nullopt;
  Header header;
  files.open(path, OpenMode::read)
      ->read_exactly_at(std::as_writable_bytes(std::span(&header, 1)), 0);
  const bool ours = std::memcmp(header.magic, Header{}.magic, sizeof(header.magic)) == 0 &&
                    header.key == key && header.file_bytes == *size && header.rows > 0;
  return ours ? std::optional(header) : std::nullopt;
}

SourcePtr open_cache(FileSystem& files, const Path& path, const std::vector<Field>& fields,
                     int64_t rows) {
  std::vector<RowFile> parts;
  int64_t offset = aligned(sizeof(Header));
  for (const Field& field : fields) {
    RowFile part;
    part.field = field;
    part.field.stored = stored_as(stored_dtype(field));
    part.rows = rows;
    part.file = files.open(path, OpenMode::read);
    part.offset = offset;
    offset = aligned(offset + rows * static_cast<int64_t>(stored_row_bytes(field)));
    parts.push_back(std::move(part));
  }
  return row_files(std::move(parts), kRowBufferBytes);
}

}  // namespace

SourcePtr cached_in_file(SourcePtr source, const Path& path, std::string_view key,
                         FileSystem* file_system) {
  FileSystem& files = file_system != nullptr ? *file_system : real_files();
  std::string whole(key);
  for (const Field& field : source->fields()) {
    whole += fmt::format("|{} {} {} {}", field.name, static_cast<int>(field.role),
                         name_of(stored_as(stored_dtype(field))), field.row.text());
  }
  if (source->rows()) whole += fmt::format("|{}", *source->rows());
  const uint64_t hash = mix_bits(hash_text(whole));
  std::optional<Header> header = read_header(files, path, hash);
  if (!header) {
    if (!source->rows()) {
      throw Error("cache: {}: the number of rows must be known; give the generator's spec .rows",
                  path.string());
    }
    header = Header{.key = hash, .rows = *source->rows()};
    header->file_bytes = whole_bytes(source->fields(), header->rows);
    if (!path.parent_path().empty()) files.create_directories(path.parent_path());
    write_atomically(files, path, [&](File& file) {
      if (CacheWriter(*source, file, files).write(header->rows) != header->rows) {
        throw DataError("cache: the source ended before its {} rows", header->rows);
      }
      file.truncate(header->file_bytes);
      file.write_at(std::as_bytes(std::span(&*header, 1)), 0);
    });
  }
  return open_cache(files, path, source->fields(), header->rows);
}

}  // namespace snug::data

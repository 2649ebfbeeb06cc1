#include "snug/data/idx.h"

#include <functional>
#include <string>

#include "snug/base/bytes.h"
#include "snug/data/gzip.h"

namespace snug {

size_t idx_header_bytes(std::string_view start, std::string_view where) {
  if (start.size() < kIdxStartBytes) {
    throw DataError(
        "{}: it has only {} bytes, but an IDX file begins with at least 4; copy or "
        "download it again",
        where, start.size());
  }
  if (start[0] != 0 || start[1] != 0) {
    throw DataError(
        "{}: it is no IDX file: it begins with the bytes {:02x} {:02x}, but 00 00 was expected; "
        "check the path",
        where, static_cast<unsigned char>(start[0]), static_cast<unsigned char>(start[1]));
  }
  const int axes = static_cast<unsigned char>(start[3]);
  if (axes == 0 || axes > Shape::kMaxRank) {
    throw DataError("{}: its IDX header claims {} axes, but 1 to {} were expected; it is damaged",
                    where, axes, Shape::kMaxRank);
  }
  return kIdxStartBytes + static_cast<size_t>(axes) * 4;
}

IdxHeader parse_idx_header(std::string_view bytes, std::string_view where) {
  const size_t size = idx_header_bytes(bytes, where);
  SNUG_CHECK(bytes.size() == size);
  IdxHeader header;
  switch (static_cast<unsigned char>(bytes[2])) {
    case 0x08:
      header.stored = StoredType::uint8;
      break;
    case 0x09:
      header.stored = StoredType::int8;
      break;
    case 0x0b:
      header.stored = StoredType::int16;
      break;
    case 0x0c:
      header.stored = StoredType::int32;
      break;
    case 0x0d:
      header.stored = StoredType::float32;
      break;
    case 0x0e:
      header.stored = StoredType::float64;
      break;
    default:
      throw DataError(
          "{}: its IDX header has the element type {:02x}, but 08, 09, 0b, 0c, 0d or 0e was "
          "expected; it is damaged",
          where, static_cast<unsigned char>(bytes[2]));
  }
  for (size_t at = kIdxStartBytes; at < size; at += 4) {
    int64_t extent = 0;
    for (size_t i = 0; i < 4; ++i) extent = extent << 8 | static_cast<unsigned char>(bytes[at + i]);
    header.shape.push_back(extent);
  }
  return header;
}

namespace data {
namespace {

using ReadNext = std::function<size_t(std::span<std::byte>)>;

std::string read_header(const ReadNext& read, std::string_view where) {
  std::string bytes(kIdxStartBytes, '\0');
  bytes.resize(read(std::as_writable_bytes(std::span(bytes))));
  const size_t wanted = idx_header_bytes(bytes, where);
  bytes.resize(wanted);
  const size_t had =
      kIdxStartBytes + read(std::as_writable_bytes(std::span(bytes)).subspan(kIdxStartBytes));
  if (had < wanted) {
    throw DataError(
        "{}: it is cut off in its header, which has {} bytes, after {}; copy or "
        "download it again",
        where, wanted, had);
  }
  return bytes;
}

// Opens compressed and plain files alike; knows how much memory is left for the former.
class IdxOpener {
 public:
  explicit IdxOpener(const IdxOptions& options)
      : options_(options),
        files_(options.files != nullptr ? *options.files : real_files()),
        left_(options.most_in_memory) {}

  RowFile open(const Path& path, FieldRole role) {
    std::unique_ptr<File> file = files_.open(path, OpenMode::read);
    if (!is_gzip(*file)) return open_plain(std::move(file), path.string(), role);
    if (options_.cache.empty()) return inflate_to_memory(*file, role);
    const Path inflated = inflate_to_cache(*file);
    return open_plain(files_.open(inflated, OpenMode::read), path.string(), role);
  }

 private:
  static RowFile with_header(std::string_view header_bytes, std::string name, FieldRole role) {
    const IdxHeader header = parse_idx_header(header_bytes, name);
    bytes_of_rows(header.shape, header.stored, name);
    RowFile rows;
    rows.field = {.name = std::move(name),
                  .role = role,
                  .stored = header.stored,
                  .row = header.shape.part(1, header.shape.rank())};
    rows.rows = header.shape[0];
    rows.offset = static_cast<int64_t>(header_bytes.size());
    rows.swapped = size_of(header.stored) > 1;
    return rows;
  }

  static RowFile open_plain(std::unique_ptr<File> file, const std::string& name, FieldRole role) {
    int64_t at = 0;
    const auto read = [&](std::span<std::byte> into) {
      const size_t count = file->read_at(into, at);
      at += static_cast<int64_t>(count);
      return count;
    };
    RowFile rows = with_header(read_header(read, name), name, role);
    rows.file = std::move(file);
    check_file_size(rows);
    return rows;
  }

  RowFile inflate_to_memory(File& file, FieldRole role) {
    const std::string name = file.path().string();
    GzipReader gzip(file);
    const auto read = [&](std::span<std::byte> into) { return gzip.read(into); };
    RowFile rows = with_header(read_header(read, name), name, role);
    const int64_t bytes = rows.rows * static_cast<int64_t>(rows.field.row_bytes());
    if (bytes > left_) {
      throw DataError(
          "{}: its rows are {} when inflated, but {} of memory are left for them; give a cache "
          "folder, unpack it with gunzip, or raise most_in_memory",
          name, bytes_text(bytes), bytes_text(left_));
    }
    left_ -= bytes;
    rows.held.resize(static_cast<size_t>(bytes));
    check_rows(rows, read(rows.held), gzip);
    if (rows.swapped) swap_bytes(rows.held, size_of(rows.field.stored));
    return rows;
  }

  // What was inflated must end with the last row, and so must the file.
  static void check_rows(const RowFile& rows, size_t had, GzipReader& gzip) {
    const auto row_bytes = static_cast<int64_t>(rows.field.row_bytes());
    if (static_cast<int64_t>(had) < rows.rows * row_bytes) {
      throw DataError(
          "{}: it is cut off: the header says {} rows of {} bytes, but it ends in row {}; download "
          "it again",
          rows.field.name, rows.rows, row_bytes, static_cast<int64_t>(had) / row_bytes);
    }
    std::byte more{};
    if (gzip.read({&more, 1}) != 0) {
      throw DataError(
          "{}: the header says {} rows of {} bytes, but more follows; download it again",
          rows.field.name, rows.rows, row_bytes);
    }
  }

  // The name has gzip's own checksum and size of the content: another content gets another name.
  // Written in one step, so that a file of this name is whole.
  Path inflate_to_cache(File& file) {
    unsigned char trailer[8] = {};
    const int64_t size = file.size();
    file.read_at(std::as_writable_bytes(std::span(trailer)), std::max<int64_t>(0, size - 8));
    std::string name = fmt::format("{}.{}-", file.path().filename().string(), size);
    for (const unsigned char byte : trailer) name += fmt::format("{:02x}", byte);
    Path inflated = options_.cache / (name + ".idx");
    if (files_.size(inflated)) return inflated;
    files_.create_directories(options_.cache);
    write_atomically(files_, inflated, [&](File& to) { inflate(file, to); });
    return inflated;
  }

  // No more than the header says, so that a small file cannot fill the disk.
  void inflate(File& from, File& to) {
    const std::string name = from.path().string();
    GzipReader gzip(from);
    const auto read = [&](std::span<std::byte> into) { return gzip.read(into); };
    const std::string header = read_header(read, name);
    const RowFile rows = with_header(header, name, FieldRole::input);
    const int64_t bytes = rows.rows * static_cast<int64_t>(rows.field.row_bytes());
    const int64_t room = files_.free_bytes(options_.cache);
    if (bytes > room) {
      throw FileError(
          "{}: its rows are {} when inflated, but {} has {} free; choose another folder", name,
          bytes_text(bytes), options_.cache.string(), bytes_text(room));
    }
    to.append(std::as_bytes(std::span(header)));
    std::vector<std::byte> buffer(kRowBufferBytes);
    int64_t done = 0;
    while (done < bytes) {
      const auto piece = std::min<int64_t>(std::ssize(buffer), bytes - done);
      const size_t count = read(std::span(buffer).first(static_cast<size_t>(piece)));
      to.append(std::span(buffer).first(count));
      done += static_cast<int64_t>(count);
      if (static_cast<int64_t>(count) < piece) break;
    }
    check_rows(rows, static_cast<size_t>(done), gzip);
  }

  const IdxOptions& options_;
  FileSystem& files_;
  int64_t left_;
};

}  // namespace

SourcePtr idx(const IdxOptions& options) {
  IdxOpener opener(options);
  std::vector<RowFile> rows;
  for (const Path& path : options.x) rows.push_back(opener.open(path, FieldRole::input));
  for (const Path& path : options.y) rows.push_back(opener.open(path, FieldRole::target));
  return row_files(std::move(rows), options.buffer_bytes);
}

}  // namespace data
}  // namespace snug

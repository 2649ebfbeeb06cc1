#include "snug/data/npy.h"

#include <string>

#include "snug/data/fortran_order.h"
#include "snug/data/npy_header.h"

namespace snug::data {
namespace {

NpyHeader read_header(File& file) {
  const std::string where = file.path().string();
  std::string bytes(kNpyPreambleBytes, '\0');
  const auto fill = [&](size_t from) {
    return from + file.read_at(std::as_writable_bytes(std::span(bytes)).subspan(from),
                               static_cast<int64_t>(from));
  };
  bytes.resize(fill(0));
  const size_t start = bytes.size(), wanted = npy_header_bytes(bytes, where);
  bytes.resize(wanted);
  const size_t had = wanted > start ? fill(start) : wanted;
  if (had < wanted) {
    throw DataError(
        "{}: it is cut off in its header, which has {} bytes, after {}; copy or save it again",
        where, wanted, had);
  }
  return parse_npy_header(bytes, where);
}

RowFile open_npy(FileSystem& files, const Path& path, FieldRole role, const Path& cache) {
  RowFile rows;
  rows.file = files.open(path, OpenMode::read);
  const NpyHeader header = read_header(*rows.file);
  bytes_of_rows(header.shape, header.stored, path.string());
  rows.field = {.name = path.string(),
                .role = role,
                .stored = header.stored,
                .row = header.shape.part(1, header.shape.rank())};
  rows.rows = header.shape[0];
  rows.offset = header.bytes;
  rows.swapped = header.swapped;
  rows.by_columns = header.by_columns;
  check_order(rows, cache);
  check_file_size(rows);
  put_in_rows(rows, files, cache);
  return rows;
}

}  // namespace

SourcePtr npy(const NpyOptions& options) {
  FileSystem& files = options.files != nullptr ? *options.files : real_files();
  std::vector<RowFile> rows;
  const auto open = [&](const Path& path, FieldRole role) {
    rows.push_back(open_npy(files, path, role, options.cache));
  };
  for (const Path& path : options.x) open(path, FieldRole::input);
  for (const Path& path : options.y) open(path, FieldRole::target);
  if (!options.sample_weight.empty()) open(options.sample_weight, FieldRole::weight);
  return row_files(std::move(rows), options.buffer_bytes);
}

}  // namespace snug::data

#include "snug/data/fortran_order.h"

#include <algorithm>
#include <cstring>

#include "snug/base/bytes.h"
#include "snug/base/error.h"
#include "snug/base/random.h"
#include "snug/data/csv_table.h"

namespace snug {
namespace {

constexpr int64_t kBlockBytes = int64_t{1} << 20;

// The places in a row of the elements whose columns follow one another in the file: there the first
// axis of a row goes fastest, in a row the last one.
std::vector<int64_t> places_in_row(const Shape& row) {
  std::vector<int64_t> places(static_cast<size_t>(row.size()));
  for (size_t column = 0; column < places.size(); ++column) {
    auto left = static_cast<int64_t>(column);
    int64_t place = 0, stride = row.size();
    for (int axis = 0; axis < row.rank(); ++axis) {
      stride /= row[axis];
      place += left % row[axis] * stride;
      left /= row[axis];
    }
    places[column] = place;
  }
  return places;
}

void scatter(std::span<const std::byte> column, size_t element, size_t row_bytes, std::byte* to) {
  for (size_t at = 0; at < column.size(); at += element, to += row_bytes)
    std::memcpy(to, column.data() + at, element);
}

// Block after block of rows: of each column the stretch that belongs to it.
void write_rows(const RowFile& rows, File& to) {
  const size_t element = size_of(rows.field.stored), row_bytes = rows.field.row_bytes();
  const std::vector<int64_t> places = places_in_row(rows.field.row);
  const int64_t most = std::clamp<int64_t>(kBlockBytes / static_cast<int64_t>(row_bytes), 1,
                                           std::max<int64_t>(1, rows.rows));
  std::vector<std::byte> block(static_cast<size_t>(most) * row_bytes);
  std::vector<std::byte> column(static_cast<size_t>(most) * element);
  for (int64_t first = 0; first < rows.rows; first += most) {
    const auto some = static_cast<size_t>(std::min(most, rows.rows - first));
    const std::span<std::byte> part = std::span(column).first(some * element);
    for (size_t i = 0; i < places.size(); ++i) {
      const int64_t before = static_cast<int64_t>(i) * rows.rows + first;
      rows.file->read_exactly_at(part, rows.offset + before * static_cast<int64_t>(element));
      scatter(part, element, row_bytes, block.data() + static_cast<size_t>(places[i]) * element);
    }
    to.append(std::span(block).first(some * row_bytes));
  }
}

}  // namespace

void check_order(const RowFile& rows, const Path& cache) {
  if (!rows.by_columns || !cache.empty()) return;
  throw DataError(
      "{}: it is in Fortran order, in which no row stands together; save it again with "
      "numpy.save(path, numpy.ascontiguousarray(x)), or give a cache folder",
      rows.field.name);
}

void put_in_rows(RowFile& rows, FileSystem& files, const Path& cache) {
  check_order(rows, cache);
  if (!rows.by_columns) return;
  SNUG_CHECK(rows.file != nullptr);
  const int64_t bytes = rows.rows * static_cast<int64_t>(rows.field.row_bytes());
  const std::string identity =
      fmt::format("{}by columns {}", identity_of(files, {rows.file->path()}), rows.offset);
  const Path path = cache / fmt::format("{}-{:016x}.rows", rows.file->path().filename().string(),
                                        mix_bits(hash_text(identity)));
  if (files.size(path) != bytes) {
    files.create_directories(cache);
    if (const int64_t room = files.free_bytes(cache); bytes > room) {
      throw FileError(
          "{}: it is in Fortran order, and its {} are to be put in rows, but {} has {} free; save "
          "it again with numpy.save(path, numpy.ascontiguousarray(x))",
          rows.field.name, bytes_text(bytes), cache.string(), bytes_text(room));
    }
    write_atomically(files, path, [&](File& to) { write_rows(rows, to); });
  }
  rows.file = files.open(path, OpenMode::read);
  rows.offset = 0;
  rows.by_columns = false;
}

}  // namespace snug

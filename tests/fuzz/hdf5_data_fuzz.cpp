// An HDF5 file of data: the rows of all its arrays.

#include "snug/data/hdf5_rows.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/input_file.h"

namespace snug::fuzz {
namespace {

void read_rows(const Hdf5Dataset& dataset) {
  constexpr int64_t kMostBytes = 1 << 16;
  if (dataset.shape.empty() || dataset.bytes == 0 || dataset.element_bytes == 0) return;
  const auto rows = dataset.is_chunked() ? chunked_rows(dataset, "input", kMostBytes)
                                         : whole_rows(dataset, "input");
  const int64_t row_bytes = dataset.bytes / dataset.shape[0];
  if (row_bytes > kMostBytes || rows->buffer_bytes() > (size_t{1} << 26)) return;
  std::vector<std::byte> row(static_cast<size_t>(row_bytes));
  for (int64_t i = std::min<int64_t>(dataset.shape[0], 20); i-- > 0;) rows->read(i, 1, row.data());
}

void read_group(const Hdf5Group& group) {
  for (const auto& item : group.datasets) refused_or_read([&] { read_rows(item.second); });
  for (const auto& [name, inner] : group.groups) read_group(inner);
}

}  // namespace

void read_input(Input bytes) {
  InputFile file("input", bytes);
  read_group(read_hdf5(file, "input"));
}

}  // namespace snug::fuzz

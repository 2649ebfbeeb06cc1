// An HDF5 file of data: the rows of all its arrays.

#include "snug/data/hdf5.h"
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

// As a run reads it: where it stands, and unpacked.
void read_array(const std::string& name, FileSystem& files) {
  data::Hdf5Options options{.file = "input", .x = {name}, .inputs_only = true};
  options.chunk_cache_bytes = 1 << 16;
  options.buffer_bytes = 16;
  options.files = &files;
  for (const char* cache : {"", "cache", "cache"}) {
    options.cache = cache;
    refused_or_read([&] {
      const SourcePtr source = data::hdf5(options);
      if (source->buffer_bytes() <= (size_t{1} << 26)) read_all(*source);
    });
  }
}

}  // namespace

void read_input(Input bytes) {
  InputFiles files(bytes);
  InputFile file("input", bytes);
  read_group(read_hdf5(file, "input"));
  constexpr size_t kMostArrays = 6;
  const std::vector<data::Hdf5Array> arrays = data::hdf5_arrays("input", &files);
  for (size_t i = 0; i < std::min(arrays.size(), kMostArrays); ++i)
    read_array(arrays[i].name, files);
}

}  // namespace snug::fuzz

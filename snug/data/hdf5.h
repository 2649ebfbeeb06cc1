// Rows in data sets of HDF5 files (.h5, .hdf5, MATLAB 7.3), read slice by slice.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "snug/base/file.h"
#include "snug/data/row_file.h"
#include "snug/data/source.h"

namespace snug::data {

struct Hdf5Options {
  Path file;
  // Paths of arrays, "group/features"; empty: those at the root that have one of the names of
  // array_names.h.
  std::vector<std::string> x, y;
  std::string sample_weight;
  bool inputs_only = false;  // Neither targets nor weights are looked at.
  // A folder for arrays in packed chunks: they are unpacked once, so that rows can be read in any
  // order at the speed of the disk. Empty, or without room: chunks are unpacked as they are needed,
  // again and again where rows are shuffled.
  Path cache;
  int64_t chunk_cache_bytes = int64_t{8} << 20;  // At least the chunks of one row.
  size_t buffer_bytes = kRowBufferBytes;         // For elements that have to be cast or turned.
  FileSystem* files = nullptr;
};

// The first axis counts the rows. Whole numbers, float16, float32, float64 of either byte order,
// and bool. Arrays in one piece and plain chunks are read where they stand. Throws DataError for a
// file that is damaged or cut off; Error, which lists the arrays there are, for a name that is not
// there, for texts and for filters that are not known (gzip, shuffle and fletcher32 are);
// FileError.
SourcePtr hdf5(const Hdf5Options& options);

// An array of a file, and whether hdf5() would read its rows.
struct Hdf5Array {
  std::string name;      // Its path: "group/features".
  std::string text;      // "float32[64, 10]".
  std::string not_read;  // Why not: "is a single number"; empty: it would.
  // What hdf5() takes it for where nothing is said.
  std::optional<FieldRole> role;
};
// All of them, those of a group before those of the groups within it. Throws as hdf5() does for a
// file that is damaged.
std::vector<Hdf5Array> hdf5_arrays(const Path& file, FileSystem* files = nullptr);

}  // namespace snug::data

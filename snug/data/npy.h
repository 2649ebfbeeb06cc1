// Rows in NumPy's .npy files, read as they are needed.
#pragma once

#include <vector>

#include "snug/base/file.h"
#include "snug/data/row_file.h"
#include "snug/data/source.h"

namespace snug::data {

struct NpyOptions {
  std::vector<Path> x, y;
  Path sample_weight;                     // One number a row; empty: none.
  Path cache;                             // A folder for arrays in Fortran order; empty: refused.
  FileSystem* files = nullptr;            // Null: the machine's own.
  size_t buffer_bytes = kRowBufferBytes;  // For elements that have to be cast or turned.
};

// The files stay open and are never mapped or loaded whole. Throws DataError for a file that is
// damaged, cut off or holds no numbers, FileError for one that cannot be read, Error when the
// numbers of rows differ.
SourcePtr npy(const NpyOptions& options);
inline SourcePtr npy(const Path& x, const Path& y) { return npy(NpyOptions{.x = {x}, .y = {y}}); }
inline SourcePtr npy(const Path& x) { return npy(NpyOptions{.x = {x}, .y = {}}); }

}  // namespace snug::data

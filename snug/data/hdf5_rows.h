// Rows of one HDF5 array as bytes.
#pragma once

#include <memory>
#include <string>

#include "snug/data/hdf5_tree.h"

namespace snug {

class Hdf5Rows {
 public:
  virtual ~Hdf5Rows() = default;
  // Writes rows [first, first + count), as they are stored, to `to`.
  virtual void read(int64_t first, int64_t count, std::byte* to) = 0;
  virtual size_t buffer_bytes() const = 0;
};

// An array in one piece, or held.
std::unique_ptr<Hdf5Rows> whole_rows(const Hdf5Dataset& dataset, const std::string& where);
// An array in chunks. Packed chunks are kept unpacked in a cache of these bytes, or as many as one
// row goes through; plain ones are read where they stand.
std::unique_ptr<Hdf5Rows> chunked_rows(const Hdf5Dataset& dataset, const std::string& where,
                                       int64_t cache_bytes);

}  // namespace snug

// HDF5 files as h5py, MATLAB (7.3) and others write them, read here and not by libhdf5: see
// docs/decisions (a file from a stranger must do no harm, and linking to it costs memory in every
// run). Superblocks 0 to 3, groups old and new, arrays in one piece, compact, or in chunks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "snug/base/file.h"

namespace snug {

// What was done to the bytes of a chunk, in this order.
struct Hdf5Filter {
  enum Kind : uint16_t { deflate = 1, shuffle = 2, fletcher32 = 3 };
  uint16_t kind = 0;  // Another number is a filter that is not known here.
  std::string name;
};

// How an array stands in its file when it is not in one piece.
struct Hdf5Chunks {
  enum class Index { single, implicit, fixed_array, extensible_array, tree_1, tree_2 };
  Index index = Index::tree_1;
  std::vector<int64_t> shape;  // Of a chunk; empty: the array is in one piece.
  int64_t address = -1;        // Of the index, or of the single chunk.
  int64_t single_bytes = 0;    // Of a single chunk as it is stored; 0: as it is.
  uint32_t single_mask = 0;
  bool whole_edges = true;  // Chunks that reach over the border are filtered too.
  std::vector<Hdf5Filter> filters;
};

// An array in a file that is read.
struct Hdf5Dataset {
  std::string dtype;     // "float32", "int64", ...; "unknown" for what is no number.
  bool swapped = false;  // Of the other byte order.
  std::string not_read;  // Why it cannot be read: "is virtual"; empty: it can.
  size_t element_bytes = 0;
  std::vector<int64_t> shape;
  std::vector<int64_t> most;  // As large as it may become; -1: without limit.
  int64_t offset = 0;         // Of its elements in the file, where they stand in one piece.
  int64_t bytes = 0;
  Hdf5Chunks chunks;
  std::vector<std::byte> held;  // The elements themselves, where they stand in the description.
  std::vector<std::byte> fill;  // An element that was never written; empty: zeros.
  int64_t base = 0;             // What addresses of the file count from.
  File* file = nullptr;         // That they stand in.

  bool is_chunked() const { return !chunks.shape.empty(); }
  bool is_held() const { return !held.empty(); }
  std::string text() const;  // "float32[64, 10]"
};

// A group of a file that is read. Everything but the arrays' elements is in memory.
struct Hdf5Group {
  // Texts and lists of texts; others are left out.
  std::map<std::string, std::vector<std::string>> attributes;
  std::map<std::string, Hdf5Group> groups;
  std::map<std::string, Hdf5Dataset> datasets;

  // By path, "layers/dense/vars"; null where there is none.
  const Hdf5Group* find_group(std::string_view path) const;
  const Hdf5Dataset* find_dataset(std::string_view path) const;
  // The first text of an attribute; empty where there is none.
  std::string text(const std::string& attribute) const;
};

// The whole tree. `where` begins every message. Throws CorruptFile for a file that is cut off or
// makes no sense, Error by name for links to elsewhere, virtual data and other kinds that are not
// read. Needs memory in proportion to the number of groups and arrays only.
Hdf5Group read_hdf5(File& file, const std::string& where);

}  // namespace snug

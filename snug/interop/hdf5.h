// HDF5 files as h5py writes them for Keras, read and written here and not by libhdf5: see
// docs/decisions (a file from a stranger must do no harm, and linking to it costs memory in every
// run). Superblock 0, symbol tables, contiguous data (keras.md 3.4); anything else is refused by
// name.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "snug/base/file.h"
#include "snug/tensor/tensor.h"

namespace snug {

// An array in a file that is read.
struct Hdf5Dataset {
  std::string dtype;  // "float32", "int64", ...; "unknown" for what Keras does not write.
  std::vector<int64_t> shape;
  int64_t offset = 0;  // Of its elements, which stand in one piece.
  int64_t bytes = 0;
  File* file = nullptr;  // That they stand in.

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
// makes no sense, Error by name for links to elsewhere, virtual, chunked or compressed data, and
// newer layouts. Needs memory in proportion to the number of groups and arrays only.
Hdf5Group read_hdf5(File& file, const std::string& where);

// Older files in the words of newer ones: Keras 2.13 called layers something else, and on Windows
// wrote backslashes into names.
Hdf5Group with_modern_names(Hdf5Group group);

// The arrays of `from` beside those of `into`. Throws CorruptFile where both have one.
void merge_groups(Hdf5Group& into, Hdf5Group from, const std::string& where);

// A file that is to be written: the same tree, with elements that somebody else owns.
struct Hdf5Array {
  Type type;
  const void* data = nullptr;  // Null: every element is `fill`.
  double fill = 0;
};
struct Hdf5Tree {
  std::vector<std::pair<std::string, std::string>> texts;
  std::vector<std::pair<std::string, std::vector<std::string>>> lists;  // Of up to 4000 texts.
  std::map<std::string, Hdf5Tree> groups;
  std::map<std::string, Hdf5Array> arrays;

  // The group at this path, made where it is not there.
  Hdf5Tree& at(std::string_view path);
};

// A tree as bytes, made piece by piece as they are asked for: beside the arrays' own memory it
// holds only what describes them.
class Hdf5Image {
 public:
  explicit Hdf5Image(const Hdf5Tree& tree);

  int64_t size() const { return size_; }
  // Fills `into` from `offset` on; the bytes are within the image.
  void read(std::span<std::byte> into, int64_t offset) const;
  // The whole image, in order, in pieces.
  void write_to(File& file) const;

 private:
  struct Piece {
    int64_t offset;
    Hdf5Array array;
  };
  std::vector<std::byte> description_;
  std::vector<Piece> pieces_;
  int64_t size_ = 0;
};

}  // namespace snug

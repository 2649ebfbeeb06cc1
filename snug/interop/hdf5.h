// Keras's weights in HDF5 files: the tree that is read (data/hdf5_tree.h) in Keras's words, and the
// writing of one as h5py does it for Keras: superblock 0, symbol tables, arrays in one piece
// (keras.md 3.4).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "snug/base/file.h"
#include "snug/data/hdf5_tree.h"
#include "snug/tensor/tensor.h"

namespace snug {

// read_hdf5 for weights, which Keras writes in one piece: throws Error by name for arrays in
// chunks, compressed ones and those of the other byte order.
Hdf5Group read_weights(File& file, const std::string& where);

// Older files in the words of newer ones: Keras 2.13 called layers something else, and on Windows
// wrote backslashes into names. Throws CorruptFile where groups would go more than 64 deep.
Hdf5Group with_modern_names(Hdf5Group group, const std::string& where);

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

// The elements of one array where they stand in a file.
struct Hdf5Piece {
  int64_t offset = 0;  // Of the first.
  int64_t bytes = 0;
  DType dtype = DType::float32;
  const void* data = nullptr;  // Null: every element is `fill`.
  double fill = 0;
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
  std::vector<std::byte> description_;
  std::vector<Hdf5Piece> pieces_;
  int64_t size_ = 0;
};

}  // namespace snug

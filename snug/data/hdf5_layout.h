// The messages of an HDF5 object: what they are, and what they say of an array.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "snug/data/hdf5_bytes.h"
#include "snug/data/hdf5_tree.h"

namespace snug {

struct Hdf5Message {
  uint16_t type = 0;
  bool shared = false;
  Hdf5Bytes body;
};

// Of an object header of version 1 or 2, with the blocks that continue it.
std::vector<Hdf5Message> hdf5_messages(Hdf5Input& input, int64_t address, const std::string& path);

struct Hdf5Type {
  std::string name = "unknown";
  size_t bytes = 0;
  bool swapped = false;
  bool is_text = false;           // Fixed length.
  bool is_variable_text = false;  // By reference into a global heap.
};
// Whole numbers, IEEE floats, enumerations (h5py's bool) as their numbers, texts.
Hdf5Type hdf5_type(Hdf5Bytes message);

struct Hdf5Space {
  std::vector<int64_t> shape, most;
};
Hdf5Space hdf5_space(Hdf5Bytes message);

// Something that HDF5 has and Snug does not read: "is virtual".
class Hdf5NotRead : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// `where` names the file and the array. Throws Hdf5NotRead, CorruptFile.
Hdf5Dataset hdf5_dataset(Hdf5Input& input, std::vector<Hdf5Message> messages,
                         const std::string& where);

}  // namespace snug

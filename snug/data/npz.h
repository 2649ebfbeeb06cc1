// Arrays in NumPy's .npz files: zip files whose members are .npy files.
#pragma once

#include <string>
#include <vector>

#include "snug/base/file.h"
#include "snug/data/row_file.h"
#include "snug/data/source.h"

namespace snug {

// A member of a zip file.
struct NpzMember {
  std::string name;
  bool deflated = false;  // Else stored as it is.
  uint32_t checksum = 0;
  int64_t offset = 0;  // Of its first byte in the file.
  int64_t packed_bytes = 0;
  int64_t bytes = 0;
};

// The members of a zip file, from its directory; zip64 too. Throws DataError, which names the file
// and the place, for what is no zip file, is damaged, encrypted or packed in a way that NumPy does
// not use.
std::vector<NpzMember> zip_members(File& file);

namespace data {

struct NpzOptions {
  Path file;
  // Names of arrays; empty: those that have one of the names of array_names.h, or the first and the
  // second of the file where none has. Where only one of them has, the other is the only array that
  // is left beside the weights.
  std::vector<std::string> x, y;
  std::string sample_weight;
  bool inputs_only = false;  // Neither targets nor weights are looked at.
  // A folder for arrays that were saved by savez_compressed: they are inflated once. Empty: they
  // are inflated into memory, up to `most_in_memory` for all of them.
  Path cache;
  int64_t most_in_memory = int64_t{64} << 20;
  // Larger arrays that are not packed are read without a look at their checksums.
  int64_t most_summed = int64_t{256} << 20;
  FileSystem* files = nullptr;
  size_t buffer_bytes = kRowBufferBytes;
};

// Stored arrays are read where they stand. Throws as npy() does, and Error, which lists the arrays
// there are, for a name that is not there.
SourcePtr npz(const NpzOptions& options);

}  // namespace data
}  // namespace snug

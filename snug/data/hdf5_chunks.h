// The chunks of an HDF5 array: where each stands in the file, and their bytes as they were before
// they were filtered.
#pragma once

#include <string>
#include <vector>

#include "snug/data/hdf5_tree.h"

namespace snug {

struct Hdf5Chunk {
  int64_t offset = -1;  // In the file; -1: never written.
  uint32_t bytes = 0;   // As it is stored.
  uint32_t mask = 0;    // Filters that were left out, a bit each.
};

// Chunks in the order of their places, the last axis fastest: 16 bytes each.
struct Hdf5ChunkList {
  std::vector<int64_t> counts;  // Of chunks along each axis.
  std::vector<Hdf5Chunk> chunks;
};

// Throws CorruptFile for an index that makes no sense or leads out of the file; Error for more
// chunks than `most`, and by name for filters that are not known.
Hdf5ChunkList list_chunks(const Hdf5Dataset& dataset, const std::string& where, int64_t most);

// Why its chunks cannot be read: "is packed by the filter 4 (szip); ..."; empty: they can.
std::string reason_against_filters(const Hdf5Dataset& dataset);

// The bytes of a chunk when it is whole.
int64_t chunk_bytes(const Hdf5Dataset& dataset);

// Reads and unfilters a chunk into `to`, chunk_bytes() long. `packed` and `spare` are buffers that
// grow to the largest chunk. `edge`: it reaches over the border of the array. Throws CorruptFile.
void read_chunk(const Hdf5Dataset& dataset, const Hdf5Chunk& chunk, bool edge,
                const std::string& where, std::vector<std::byte>& packed,
                std::vector<std::byte>& spare, std::byte* to);

// Fills `count` elements with the value of what was never written.
void fill_elements(const Hdf5Dataset& dataset, int64_t count, std::byte* to);

}  // namespace snug

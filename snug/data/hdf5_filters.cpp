#include <zlib.h>

#include <algorithm>
#include <cstring>

#include "snug/base/error.h"
#include "snug/data/hdf5_chunks.h"

namespace snug {
namespace {

[[noreturn]] void refuse(const std::string& where, const Hdf5Chunk& chunk, std::string_view what) {
  throw CorruptFile("{}: the chunk at byte {} {}; copy or save it again", where, chunk.offset,
                    what);
}

// Sums of 16-bit words, as HDF5 has them.
uint32_t fletcher32(std::span<const std::byte> bytes) {
  uint32_t first = 0, second = 0;
  const auto fold = [](uint32_t sum) { return (sum & 0xffff) + (sum >> 16); };
  const auto add = [&](uint32_t word) {
    first = fold(first + word);
    second = fold(second + first);
  };
  for (size_t i = 0; i + 1 < bytes.size(); i += 2) {
    add(static_cast<uint32_t>(bytes[i]) << 8 | static_cast<uint32_t>(bytes[i + 1]));
  }
  if (bytes.size() % 2 == 1) add(static_cast<uint32_t>(bytes.back()) << 8);
  return fold(second) << 16 | fold(first);
}

void take_checksum(std::vector<std::byte>& bytes, const std::string& where,
                   const Hdf5Chunk& chunk) {
  if (bytes.size() < 4) refuse(where, chunk, "is too short for its checksum");
  uint32_t stored = 0;
  std::memcpy(&stored, bytes.data() + bytes.size() - 4, 4);
  bytes.resize(bytes.size() - 4);
  if (fletcher32(bytes) != stored) refuse(where, chunk, "has a wrong checksum: it is damaged");
}

void inflate_into(const std::vector<std::byte>& packed, std::vector<std::byte>& to,
                  const std::string& where, const Hdf5Chunk& chunk) {
  auto size = static_cast<uLongf>(to.size());
  const int state = ::uncompress(reinterpret_cast<Bytef*>(to.data()), &size,
                                 reinterpret_cast<const Bytef*>(packed.data()),
                                 static_cast<uLong>(packed.size()));
  if (state == Z_BUF_ERROR && size == to.size())
    refuse(where, chunk, "is longer than it should be when it is inflated");
  if (state != Z_OK) refuse(where, chunk, "cannot be inflated: it is damaged");
  to.resize(size);
}

// Bytes of all elements stand together by their place in the element.
void unshuffle(const std::vector<std::byte>& from, size_t element, std::vector<std::byte>& to) {
  to.resize(from.size());
  const size_t count = from.size() / element;
  for (size_t byte = 0; byte < element; ++byte) {
    for (size_t i = 0; i < count; ++i) to[i * element + byte] = from[byte * count + i];
  }
  std::copy(from.begin() + static_cast<std::ptrdiff_t>(count * element), from.end(),
            to.begin() + static_cast<std::ptrdiff_t>(count * element));
}

}  // namespace

void fill_elements(const Hdf5Dataset& dataset, int64_t count, std::byte* to) {
  const size_t size = dataset.element_bytes;
  if (dataset.fill.size() != size) {
    std::memset(to, 0, static_cast<size_t>(count) * size);
    return;
  }
  for (int64_t i = 0; i < count; ++i)
    std::memcpy(to + static_cast<size_t>(i) * size, dataset.fill.data(), size);
}

void read_chunk(const Hdf5Dataset& dataset, const Hdf5Chunk& chunk, bool edge,
                const std::string& where, std::vector<std::byte>& packed,
                std::vector<std::byte>& spare, std::byte* to) {
  const auto whole = static_cast<size_t>(chunk_bytes(dataset));
  if (chunk.offset < 0) {
    return fill_elements(dataset, static_cast<int64_t>(whole / dataset.element_bytes), to);
  }
  // Nothing is inflated to more than about a thousand times its size.
  if (whole / 1100 > chunk.bytes + size_t{1024}) {
    refuse(where, chunk, fmt::format("has {} bytes, which cannot become {}", chunk.bytes, whole));
  }
  packed.resize(chunk.bytes);
  dataset.file->read_exactly_at(packed, chunk.offset);
  const std::vector<Hdf5Filter>& filters = dataset.chunks.filters;
  const bool filtered = !edge || dataset.chunks.whole_edges;
  for (size_t i = filters.size(); filtered && i-- > 0;) {
    if (i < 32 && (chunk.mask >> i & 1) != 0) continue;
    if (filters[i].kind == Hdf5Filter::fletcher32) {
      take_checksum(packed, where, chunk);
      continue;
    }
    if (filters[i].kind == Hdf5Filter::deflate) {
      spare.resize(whole + 8);  // A checksum may stand behind the elements.
      inflate_into(packed, spare, where, chunk);
    } else {
      unshuffle(packed, dataset.element_bytes, spare);
    }
    std::swap(packed, spare);
  }
  if (packed.size() != whole) {
    refuse(where, chunk, fmt::format("has {} bytes, but {} were expected", packed.size(), whole));
  }
  std::memcpy(to, packed.data(), whole);
}

}  // namespace snug

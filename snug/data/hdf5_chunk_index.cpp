// The five ways in which HDF5 keeps the places of chunks.

#include <algorithm>
#include <bit>

#include "snug/data/hdf5_bytes.h"
#include "snug/data/hdf5_chunks.h"
#include "snug/data/hdf5_links.h"

namespace snug {
namespace {

class ChunkIndex {
 public:
  ChunkIndex(const Hdf5Dataset& dataset, const std::string& where, int64_t most)
      : dataset_(dataset), input_(*dataset.file, where) {
    input_.set_base(dataset.base);
    int64_t count = 1;
    for (size_t axis = 0; axis < dataset.shape.size(); ++axis) {
      const int64_t chunk = dataset.chunks.shape[axis];
      list_.counts.push_back((dataset.shape[axis] + chunk - 1) / chunk);
      if (list_.counts.back() > most / std::max<int64_t>(1, count)) {
        throw Error(
            "{}: it has more than {} chunks, too many to be held; save it with larger chunks",
            where, most);
      }
      count *= list_.counts.back();
      // What an index counts by: as far as the array may grow.
      const int64_t reach = dataset.most[axis];
      grid_.push_back(std::max<int64_t>(
          1, reach < 0 ? list_.counts.back() : reach / chunk + (reach % chunk != 0 ? 1 : 0)));
    }
    list_.chunks.resize(static_cast<size_t>(count));
    whole_bytes_ = chunk_bytes(dataset);
    filtered_ = !dataset.chunks.filters.empty();
  }

  Hdf5ChunkList read() {
    const int64_t at = dataset_.chunks.address;
    if (at == kHdf5Nowhere || list_.chunks.empty()) return std::move(list_);
    switch (dataset_.chunks.index) {
      case Hdf5Chunks::Index::single:
        put(0, {at, single_bytes(), dataset_.chunks.single_mask});
        break;
      case Hdf5Chunks::Index::implicit:
        for (int64_t i = 0; i < std::ssize(list_.chunks); ++i)
          put(i, {input_.place(at, i, whole_bytes_), static_cast<uint32_t>(whole_bytes_), 0});
        break;
      case Hdf5Chunks::Index::fixed_array:
        read_fixed_array(at);
        break;
      case Hdf5Chunks::Index::extensible_array:
        read_extensible_array(at);
        break;
      case Hdf5Chunks::Index::tree_1:
        read_tree_1(at, 0);
        break;
      case Hdf5Chunks::Index::tree_2:
        read_tree_2(at);
        break;
    }
    return std::move(list_);
  }

 private:
  [[noreturn]] void refuse(std::string_view what) const {
    throw CorruptFile("{}: {}; copy or save it again", input_.where(), what);
  }
  uint32_t single_bytes() const {
    const int64_t bytes = dataset_.chunks.single_bytes;
    return static_cast<uint32_t>(bytes == 0 ? whole_bytes_ : bytes);
  }

  void put(int64_t place, Hdf5Chunk chunk) {
    if (place < 0 || place >= std::ssize(list_.chunks)) refuse("a chunk has no place in its array");
    if (chunk.offset == kHdf5Nowhere) return;
    if (!filtered_) chunk.bytes = static_cast<uint32_t>(whole_bytes_);
    if (!input_.holds(chunk.offset, chunk.bytes)) refuse("a chunk lies outside the file");
    chunk.offset += input_.base();
    list_.chunks[static_cast<size_t>(place)] = chunk;
  }
  // By the numbers of the chunk along each axis; beyond the border it is of no use.
  template <typename Next>
  void put_scaled(const Next& next, const Hdf5Chunk& chunk) {
    int64_t place = 0;
    bool inside = true;
    for (size_t axis = 0; axis < list_.counts.size(); ++axis) {
      const int64_t at = next(axis);
      inside = inside && at >= 0 && at < list_.counts[axis];
      if (inside) place = place * list_.counts[axis] + at;
    }
    if (inside) put(place, chunk);
  }
  // By the number that arrays count: over the grid that the array may grow to.
  void put_numbered(int64_t number, const Hdf5Chunk& chunk) {
    std::vector<int64_t> at(grid_.size());
    for (size_t axis = grid_.size(); axis-- > 0;) {
      at[axis] = axis == 0 ? number : number % grid_[axis];
      number /= grid_[axis];
    }
    put_scaled([&](size_t axis) { return at[axis]; }, chunk);
  }
  Hdf5Chunk entry(Hdf5Bytes& from, size_t bytes) {
    Hdf5Chunk chunk{.offset = from.address()};
    if (!filtered_) return chunk;
    if (bytes < 13 || bytes > 20) refuse("its index has entries that cannot be");
    const uint64_t stored = from.number_of(bytes - 12);
    if (stored > 0xffffffffu) refuse("a chunk lies outside the file");
    chunk.bytes = static_cast<uint32_t>(stored);
    chunk.mask = from.number<uint32_t>();
    return chunk;
  }

  void read_tree_1(int64_t address, int depth) {
    input_.count_node();
    if (depth > 16) refuse("its index has no end");
    Hdf5Bytes node = input_.at(address, 24);
    node.expect("TREE");
    if (node.number<uint8_t>() != 1) refuse("its index is of another kind");
    const auto level = node.number<uint8_t>();
    const int64_t count = node.number<uint16_t>();
    const size_t rank = dataset_.shape.size();
    const auto key = static_cast<int64_t>(8 + 8 * (rank + 1));
    Hdf5Bytes entries = input_.at(address + 24, count * (key + 8) + key);
    for (int64_t i = 0; i < count; ++i) {
      const auto bytes = entries.number<uint32_t>(), mask = entries.number<uint32_t>();
      std::vector<int64_t> first(rank + 1);
      for (int64_t& at : first) at = entries.address();
      const int64_t child = entries.address();
      if (level > 0) {
        read_tree_1(child, depth + 1);
        continue;
      }
      put_scaled([&](size_t axis) { return first[axis] / dataset_.chunks.shape[axis]; },
                 {child, bytes, mask});
    }
  }

  void read_tree_2(int64_t address) {
    const size_t rank = dataset_.shape.size();
    visit_tree_2(input_, address, [&](Hdf5Bytes record) {
      if (record.left() < 8 * (rank + 1)) refuse("its index has entries that cannot be");
      const Hdf5Chunk chunk = entry(record, record.left() - 8 * rank);
      put_scaled([&](size_t) { return record.address(); }, chunk);
    });
  }

  // Entries from `number` on, in one stretch or in pages that have a checksum each.
  void read_entries(int64_t address, int64_t number, int64_t count, size_t bytes, int64_t page) {
    for (int64_t done = 0; done < count; done += page) {
      const int64_t some = std::min(page, count - done);
      const auto size = static_cast<int64_t>(bytes);
      Hdf5Bytes entries = input_.at(address + done * size + done / page * 4, some * size);
      input_.count_node();
      for (int64_t i = 0; i < some; ++i) put_numbered(number + done + i, entry(entries, bytes));
    }
  }

  void read_fixed_array(int64_t address) {
    Hdf5Bytes head = input_.at(address, 24);
    head.expect("FAHD");
    head.skip(2);
    const size_t bytes = head.number<uint8_t>();
    const int page_bits = head.number<uint8_t>();
    const int64_t count = head.address(), block = head.address();
    if (block == kHdf5Nowhere) return;
    if (bytes < 8 || page_bits > 40 || count < 0 || count > (int64_t{1} << 40))
      refuse("its index cannot be");
    const int64_t page = int64_t{1} << page_bits;
    input_.at(block, 4).expect("FADB");
    int64_t start = block + 4 + 1 + 1 + 8;
    // Pages that were never written are marked in a field of bits.
    if (count > page) {
      const int64_t pages = (count + page - 1) / page, bits = (pages + 7) / 8;
      Hdf5Bytes written = input_.at(start, bits);
      start += bits + 4;
      const std::byte* field = written.take(static_cast<size_t>(bits));
      for (int64_t i = 0; i < pages; ++i) {
        const bool is_written = (static_cast<int>(field[i / 8]) >> (7 - i % 8) & 1) != 0;
        const int64_t some = std::min(page, count - i * page);
        const int64_t at = start + i * (page * static_cast<int64_t>(bytes) + 4);
        if (is_written) read_entries(at, i * page, some, bytes, page);
      }
      return;
    }
    read_entries(start, 0, count, bytes, page);
  }

  // Its settings, and the blocks that they lead to: the first entries stand in the index block, the
  // next in data blocks that it names, the others in those that super blocks name.
  struct Extensible {
    size_t entry_bytes = 0, offset_bytes = 0;
    int64_t first = 0, least = 0, pointers = 0, page = 0, end = 0;
  };

  void read_extensible_array(int64_t address) {
    if (dataset_.most[0] >= 0) refuse("it may grow along another axis than the first");
    Hdf5Bytes head = input_.at(address, 68);
    head.expect("EAHD");
    head.skip(2);
    Extensible array{.entry_bytes = head.number<uint8_t>()};
    const int bits = head.number<uint8_t>();
    array.first = head.number<uint8_t>();
    array.least = head.number<uint8_t>();
    array.pointers = head.number<uint8_t>();
    const int page_bits = head.number<uint8_t>();
    head.skip(4 * 8);
    array.end = head.address();
    head.skip(8);
    const int64_t index = head.address();
    const bool sane = array.entry_bytes >= 8 && bits <= 64 && page_bits <= 40 &&
                      std::has_single_bit(static_cast<uint64_t>(array.least)) &&
                      std::has_single_bit(static_cast<uint64_t>(array.pointers));
    if (!sane) refuse("its index cannot be");
    if (index == kHdf5Nowhere) return;
    array.offset_bytes = static_cast<size_t>((bits + 7) / 8);
    array.page = int64_t{1} << page_bits;
    read_extensible_blocks(array, index, bits);
  }

  void read_extensible_blocks(const Extensible& array, int64_t index, int bits) {
    const int log_least = std::countr_zero(static_cast<uint64_t>(array.least));
    const int log_pointers = std::countr_zero(static_cast<uint64_t>(array.pointers));
    const int supers = 1 + bits - log_least, direct = 2 * log_pointers;
    const int64_t blocks = 2 * (array.pointers - 1);
    const auto entries = static_cast<int64_t>(array.entry_bytes) * array.first;
    if (supers < direct) refuse("its index cannot be");
    Hdf5Bytes block = input_.at(index, 14 + entries + 8 * (blocks + supers - direct));
    block.expect("EAIB");
    block.skip(10);
    for (int64_t i = 0; i < array.first; ++i) put_numbered(i, entry(block, array.entry_bytes));
    int64_t number = array.first;
    for (int super = 0; super < supers && number < array.end; ++super) {
      const int64_t count = int64_t{1} << (super / 2);
      const int64_t size = array.least << ((super + 1) / 2);
      if (super < direct) {
        for (int64_t i = 0; i < count; ++i, number += size)
          read_data_block(array, block.address(), number, size);
      } else {
        read_super_block(array, block.address(), number, count, size);
        number = input_.place(number, count, size);
      }
    }
  }

  void read_super_block(const Extensible& array, int64_t address, int64_t number, int64_t count,
                        int64_t size) {
    if (address == kHdf5Nowhere) return;
    input_.count_node();
    input_.at(address, 4).expect("EASB");
    int64_t at = address + 14 + static_cast<int64_t>(array.offset_bytes);
    if (size > array.page) at += count * ((size / array.page + 7) / 8);
    Hdf5Bytes blocks = input_.at(at, 8 * count);
    for (int64_t i = 0; i < count; ++i)
      read_data_block(array, blocks.address(), number + i * size, size);
  }

  void read_data_block(const Extensible& array, int64_t address, int64_t number, int64_t size) {
    if (address == kHdf5Nowhere || number >= array.end) return;
    input_.at(address, 4).expect("EADB");
    int64_t start = address + 14 + static_cast<int64_t>(array.offset_bytes);
    if (size > array.page) start += 4;  // The checksum of the block's own head.
    const int64_t used = std::min(size, array.end - number);
    read_entries(start, number, used, array.entry_bytes, std::min(size, array.page));
  }

  const Hdf5Dataset& dataset_;
  Hdf5Input input_;
  Hdf5ChunkList list_;
  std::vector<int64_t> grid_;
  int64_t whole_bytes_ = 0;
  bool filtered_ = false;
};

}  // namespace

std::string reason_against_filters(const Hdf5Dataset& dataset) {
  for (const Hdf5Filter& filter : dataset.chunks.filters) {
    if (filter.kind >= Hdf5Filter::deflate && filter.kind <= Hdf5Filter::fletcher32) continue;
    constexpr std::string_view kNames[] = {"szip", "nbit", "scaleoffset"};
    std::string name = filter.name;
    if (filter.kind >= 4 && filter.kind <= 6) name = kNames[filter.kind - 4];
    return fmt::format("is packed by the filter {} ({}); save it with gzip, or without",
                       filter.kind, name.empty() ? "without a name" : name);
  }
  return "";
}

int64_t chunk_bytes(const Hdf5Dataset& dataset) {
  auto bytes = static_cast<int64_t>(dataset.element_bytes);
  for (const int64_t extent : dataset.chunks.shape) bytes *= extent;
  return bytes;
}

Hdf5ChunkList list_chunks(const Hdf5Dataset& dataset, const std::string& where, int64_t most) {
  if (const std::string reason = reason_against_filters(dataset); !reason.empty())
    throw Error("{}: it {}", where, reason);
  constexpr int64_t kMostChunkBytes = int64_t{1} << 30;
  if (chunk_bytes(dataset) > kMostChunkBytes) {
    throw Error("{}: its chunks have {} bytes, more than can be held; save it with smaller ones",
                where, chunk_bytes(dataset));
  }
  return ChunkIndex(dataset, where, most).read();
}

}  // namespace snug

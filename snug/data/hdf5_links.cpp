#include "snug/data/hdf5_links.h"

#include <algorithm>
#include <bit>

namespace snug {
namespace {

// A fractal heap: blocks of doubling sizes, in which objects stand at offsets that go on from one
// block to the next. The first two rows of its table have blocks of the starting size, each further
// row of twice the size before.
class FractalHeap {
 public:
  FractalHeap(Hdf5Input& input, int64_t address) : input_(input) {
    Hdf5Bytes head = input.at(address, 142);
    head.expect("FRHP");
    head.skip(1);
    id_bytes_ = head.number<uint16_t>();
    const auto filters = head.number<uint16_t>();
    head.skip(1);
    const auto largest = head.number<uint32_t>();
    head.skip(8 * 12);
    width_ = head.number<uint16_t>();
    start_bytes_ = head.address();
    most_direct_ = head.address();
    const int bits = head.number<uint16_t>();
    head.skip(2);
    root_ = head.address();
    rows_ = head.number<uint16_t>();
    offset_bytes_ = static_cast<size_t>((bits + 7) / 8);
    // Blocks have powers of two: what stands within one is told in as many bits.
    length_bytes_ =
        std::min(bytes_for(static_cast<uint64_t>(most_direct_) - 1), bytes_for(largest));
    const bool sane = filters == 0 && width_ > 0 && start_bytes_ > 0 &&
                      start_bytes_ <= most_direct_ && most_direct_ < (int64_t{1} << 40) &&
                      offset_bytes_ <= 8 && rows_ < 64;
    if (!sane) throw CorruptFile("{}: it has a heap that cannot be", input.where());
  }

  // An object by its identifier, at the end of a record.
  Hdf5Bytes object(Hdf5Bytes& record) {
    Hdf5Bytes id = record.part(id_bytes_);
    if ((id.number<uint8_t>() & 0x30) != 0)
      throw CorruptFile("{}: it has a link that is too long", input_.where());
    const auto offset = static_cast<int64_t>(id.number_of(offset_bytes_));
    const auto length = static_cast<int64_t>(id.number_of(length_bytes_));
    if (offset < 0) throw CorruptFile("{}: it has a heap that cannot be", input_.where());
    if (rows_ == 0) return input_.at(input_.place(root_, offset), length);
    return within(root_, offset, length, 0);
  }

 private:
  static size_t bytes_for(uint64_t most) {
    return static_cast<size_t>((std::bit_width(most) + 7) / 8);
  }

  // In an indirect block, whose part of the heap begins at 0.
  Hdf5Bytes within(int64_t block, int64_t offset, int64_t length, int depth) {
    input_.count_node();
    int64_t entry = 0, start = 0, size = start_bytes_;
    for (int row = 0; size <= (int64_t{1} << 50) && depth < 16; ++row) {
      if (row > 1) size *= 2;
      if (const int64_t end = input_.place(start, size, width_); offset >= end) {
        start = end;
        entry += width_;
        continue;
      }
      entry += (offset - start) / size;
      const int64_t inner = (offset - start) % size;
      const auto head = static_cast<int64_t>(4 + 1 + 8 + offset_bytes_);
      const int64_t child = input_.at(input_.place(block, head + 8 * entry), 8).address();
      if (size <= most_direct_) return input_.at(input_.place(child, inner), length);
      return within(child, inner, length, depth + 1);
    }
    throw CorruptFile("{}: it has a heap that cannot be", input_.where());
  }

  Hdf5Input& input_;
  size_t id_bytes_ = 0, offset_bytes_ = 0, length_bytes_ = 0;
  int64_t width_ = 0, start_bytes_ = 0, most_direct_ = 0, root_ = 0;
  int rows_ = 0;
};

}  // namespace

Hdf5Link hdf5_link(Hdf5Bytes message, const std::string& where) {
  if (message.number<uint8_t>() != 1) throw CorruptFile("{}: it has a link that cannot be", where);
  const auto flags = message.number<uint8_t>();
  Hdf5Link link;
  if ((flags & 8) != 0) link.is_hard = message.number<uint8_t>() == 0;
  if ((flags & 4) != 0) message.skip(8);
  if ((flags & 16) != 0) message.skip(1);
  link.name = message.text(message.number_of(size_t{1} << (flags & 3)));
  if (link.is_hard) link.address = message.address();
  return link;
}

void hdf5_dense_links(Hdf5Input& input, Hdf5Bytes info,
                      const std::function<void(Hdf5Bytes link)>& visit) {
  info.skip(1);
  const auto flags = info.number<uint8_t>();
  if ((flags & 1) != 0) info.skip(8);
  const int64_t heap_address = info.address(), names = info.address();
  if (heap_address == kHdf5Nowhere || names == kHdf5Nowhere) return;
  FractalHeap heap(input, heap_address);
  visit_tree_2(input, names, [&](Hdf5Bytes record) {
    record.skip(4);  // The hash of the name.
    visit(heap.object(record));
  });
}

}  // namespace snug

// Trees of version 2: nodes of one size, records of one size in all of them.

#include <bit>

#include "snug/data/hdf5_links.h"

namespace snug {
namespace {

constexpr int kDeepest = 16;
constexpr int64_t kPrefixBytes = 6, kChecksumBytes = 4;

// Bytes that hold numbers up to this.
size_t bytes_for(uint64_t most) { return static_cast<size_t>((std::bit_width(most) + 7) / 8); }

class Tree {
 public:
  Tree(Hdf5Input& input, const std::function<void(Hdf5Bytes)>& visit)
      : input_(input), visit_(visit) {}

  void read(int64_t address) {
    Hdf5Bytes head = input_.at(address, 38);
    head.expect("BTHD");
    head.skip(2);
    node_bytes_ = head.number<uint32_t>();
    record_bytes_ = head.number<uint16_t>();
    const int depth = head.number<uint16_t>();
    head.skip(2);
    const int64_t root = head.address();
    const int64_t records = head.number<uint16_t>();
    if (record_bytes_ < 1 || node_bytes_ < kPrefixBytes + kChecksumBytes || depth > kDeepest)
      throw CorruptFile("{}: it has a tree that cannot be", input_.where());
    if (root == kHdf5Nowhere || records == 0) return;
    measure(depth);
    read_node(root, records, depth);
  }

 private:
  // How long the counts in inner nodes are: what a node of each level holds at most.
  void measure(int depth) {
    const auto room = static_cast<uint64_t>(node_bytes_ - kPrefixBytes - kChecksumBytes);
    const auto record = static_cast<uint64_t>(record_bytes_);
    uint64_t below = room / record;
    count_bytes_ = bytes_for(below);
    total_bytes_[0] = 0;
    for (int level = 1; level <= depth; ++level) {
      const uint64_t pointer = 8 + count_bytes_ + total_bytes_[level - 1];
      const uint64_t records = room < pointer ? 0 : (room - pointer) / (record + pointer);
      below = (records + 1) * below + records;
      total_bytes_[level] = bytes_for(below);
    }
  }

  void read_node(int64_t address, int64_t records, int level) {
    input_.count_node();
    Hdf5Bytes node = input_.at(address, node_bytes_);
    node.expect(level == 0 ? "BTLF" : "BTIN");
    node.skip(2);
    Hdf5Bytes keys = node.part(static_cast<size_t>(records * record_bytes_));
    for (int64_t i = 0; i <= records; ++i) {
      if (level > 0) {
        const int64_t child = node.address();
        const auto count = static_cast<int64_t>(node.number_of(count_bytes_));
        node.skip(total_bytes_[level - 1]);
        read_node(child, count, level - 1);
      }
      if (i < records) visit_(keys.part(static_cast<size_t>(record_bytes_)));
    }
  }

  Hdf5Input& input_;
  const std::function<void(Hdf5Bytes)>& visit_;
  int64_t node_bytes_ = 0, record_bytes_ = 0;
  size_t count_bytes_ = 0;
  size_t total_bytes_[kDeepest + 1] = {};
};

}  // namespace

void visit_tree_2(Hdf5Input& input, int64_t address, const std::function<void(Hdf5Bytes)>& visit) {
  Tree(input, visit).read(address);
}

}  // namespace snug

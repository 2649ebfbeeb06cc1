// The layout (keras.md 3.4): superblock, then each group's header, heap of names, tree and leaves,
// each array's header, the texts, and last all elements.

#include <algorithm>
#include <array>
#include <cstring>

#include "snug/base/error.h"
#include "snug/interop/hdf5.h"
#include "snug/interop/hdf5_block.h"

namespace snug {
namespace {

constexpr int64_t kNowhere = -1;

int64_t padded(int64_t bytes) { return (bytes + 7) / 8 * 8; }

// As the HDF5 library writes them where nothing else is asked for: entries of a leaf are at most
// twice the first, children of a node of the tree above the leaves twice the second.
constexpr uint16_t kLeaf = 4, kNode = 16;
constexpr size_t kSuperblockBytes = 96;
constexpr size_t kLeafBytes = 8 + 2 * kLeaf * 40, kNodeBytes = 24 + (4 * kNode + 1) * 8;

void put_message(Hdf5Block& block, uint16_t type, Hdf5Block body) {
  body.pad();
  block.put<uint16_t>(type);
  block.put<uint16_t>(static_cast<uint16_t>(body.bytes.size()));
  block.put<uint32_t>(0);
  block.bytes.insert(block.bytes.end(), body.bytes.begin(), body.bytes.end());
}

// Version 1: the messages stand behind it.
void put_header(Hdf5Block& block, uint16_t messages, const Hdf5Block& body) {
  block.pad();
  block.put<uint8_t>(1);
  block.put<uint8_t>(0);
  block.put<uint16_t>(messages);
  block.put<uint32_t>(1);
  block.put<uint32_t>(static_cast<uint32_t>(body.bytes.size()));
  block.put<uint32_t>(0);
  block.bytes.insert(block.bytes.end(), body.bytes.begin(), body.bytes.end());
}

Hdf5Block type_of(DType dtype) {
  Hdf5Block type;
  const auto bytes = static_cast<uint32_t>(size_of(dtype));
  if (is_float(dtype)) {
    const bool is_double = dtype == DType::float64;
    type.put<uint32_t>(is_double ? 0x003f2011 : 0x001f2011);
    type.put<uint32_t>(bytes);
    type.put<uint16_t>(0);
    type.put<uint16_t>(static_cast<uint16_t>(8 * bytes));
    type.put<uint32_t>(is_double ? 0x34000b34 : 0x17000817);
    type.put<uint32_t>(is_double ? 1023 : 127);
  } else {
    const bool is_signed = dtype == DType::int32 || dtype == DType::int64;
    type.put<uint32_t>(is_signed ? 0x00000810 : 0x00000010);
    type.put<uint32_t>(bytes);
    type.put<uint16_t>(0);
    type.put<uint16_t>(static_cast<uint16_t>(8 * bytes));
  }
  return type;
}

Hdf5Block space_of(std::span<const int64_t> shape) {
  Hdf5Block space;
  space.put<uint8_t>(1);
  space.put<uint8_t>(static_cast<uint8_t>(shape.size()));
  space.put_zeros(6);
  for (const int64_t extent : shape) space.put<int64_t>(extent);
  return space;
}

Hdf5Block attribute(const std::string& name, Hdf5Block type, Hdf5Block space,
                    const Hdf5Block& data) {
  Hdf5Block message;
  message.put<uint8_t>(1);
  message.put<uint8_t>(0);
  message.put<uint16_t>(static_cast<uint16_t>(name.size() + 1));
  message.put<uint16_t>(static_cast<uint16_t>(type.bytes.size()));
  message.put<uint16_t>(static_cast<uint16_t>(space.bytes.size()));
  message.put_text(name);
  message.put<uint8_t>(0);
  for (Hdf5Block* part : {&type, &space}) {
    message.pad();
    message.bytes.insert(message.bytes.end(), part->bytes.begin(), part->bytes.end());
  }
  message.pad();
  message.bytes.insert(message.bytes.end(), data.bytes.begin(), data.bytes.end());
  return message;
}

// A group with all that is in it.
size_t most_bytes_of_group(const Hdf5Tree& tree) {
  constexpr size_t kOfGroup = 512, kOfArray = 256, kOfText = 256;
  const size_t entries = tree.groups.size() + tree.arrays.size();
  const size_t leaves = entries / (2 * kLeaf) + 1, nodes = leaves / kNode + 1;
  size_t bytes = kOfGroup + leaves * kLeafBytes + nodes * kNodeBytes;
  bytes += tree.arrays.size() * kOfArray;
  for (const auto& [name, text] : tree.texts) bytes += kOfText + text.size();
  for (const auto& [name, list] : tree.lists) bytes += (1 + list.size()) * kOfText;
  for (const auto& [name, group] : tree.groups) bytes += most_bytes_of_group(group);
  return bytes;
}

// What describes a tree takes no more, unless names are long: bytes that do not move while they
// grow are there once. Those that are never written take no memory.
size_t most_bytes(const Hdf5Tree& tree) {
  return kSuperblockBytes + most_bytes_of_group(tree) + Hdf5TextHeap::kLeastBytes;
}

class Writer {
 public:
  explicit Writer(const Hdf5Tree& tree) {
    block_.bytes.reserve(most_bytes(tree));
    put_superblock();
    const Place root = put_group(tree);
    for (const auto& [heap, references] : heaps_) {
      block_.pad();
      for (const int64_t at : references) block_.put_at<int64_t>(at, block_.size());
      heap.put(block_);
    }
    block_.put_at<int64_t>(64, root.header);
    block_.put_at<int64_t>(80, root.tree);
    block_.put_at<int64_t>(88, root.names);
    place_arrays();
    block_.put_at<int64_t>(40, end_);
  }

  Hdf5Block block_;
  std::vector<Hdf5Piece> pieces_;
  int64_t end_ = 0;

 private:
  struct Place {
    int64_t header = 0, tree = 0, names = 0;
  };
  struct Entry {
    int64_t name_at;
    Place place;
    bool is_group;
  };
  struct Child {
    int64_t at;         // A leaf, or a node above some.
    int64_t last_name;  // Of its entries.
  };

  void put_superblock() {
    block_.put_text("\x89HDF\r\n\x1a\n");
    block_.put_zeros(5);
    block_.put<uint8_t>(8);
    block_.put<uint8_t>(8);
    block_.put<uint8_t>(0);
    block_.put<uint16_t>(kLeaf);
    block_.put<uint16_t>(kNode);
    block_.put<uint32_t>(0);
    block_.put<int64_t>(0);
    block_.put<int64_t>(kNowhere);
    block_.put<int64_t>(0);  // The end, put in last.
    block_.put<int64_t>(kNowhere);
    block_.put<int64_t>(0);
    block_.put<int64_t>(0);  // The root.
    block_.put<uint32_t>(1);
    block_.put<uint32_t>(0);
    block_.put_zeros(16);
  }

  Place put_group(const Hdf5Tree& tree) {
    // Sorted by name, as the tree must be: groups and arrays together.
    std::map<std::string_view, Entry> entries;
    for (const auto& [name, group] : tree.groups) entries[name] = {0, put_group(group), true};
    for (const auto& [name, array] : tree.arrays)
      entries[name] = {0, {.header = put_array(array)}, false};
    Place place;
    place.names = put_names(entries);
    place.tree = put_tree(entries);
    Hdf5Block messages, table;
    table.put<int64_t>(place.tree);
    table.put<int64_t>(place.names);
    put_message(messages, 0x11, table);
    const size_t attributes = put_attributes(messages, tree);
    block_.pad();
    place.header = block_.size();
    for (TextReference& reference : references_)
      heaps_[reference.heap].second.push_back(place.header + 16 + reference.at);
    references_.clear();
    put_header(block_, static_cast<uint16_t>(1 + attributes), messages);
    return place;
  }

  int64_t put_names(std::map<std::string_view, Entry>& entries) {
    Hdf5Block names;
    names.put_zeros(8);
    for (auto& [name, entry] : entries) {
      entry.name_at = names.size();
      names.put_text(name);
      names.put<uint8_t>(0);
      names.pad();
    }
    block_.pad();
    const int64_t at = block_.size();
    block_.put_text("HEAP");
    block_.put<uint32_t>(0);
    block_.put<int64_t>(names.size());
    block_.put<int64_t>(1);  // No free place.
    block_.put<int64_t>(at + 32);
    block_.bytes.insert(block_.bytes.end(), names.bytes.begin(), names.bytes.end());
    return at;
  }

  // Leaves, nodes above them, and nodes above these, until there is one.
  int64_t put_tree(const std::map<std::string_view, Entry>& entries) {
    std::vector<Child> level = put_leaves(entries);
    uint8_t height = 0;
    do level = put_nodes(level, height++);
    while (level.size() > 1);
    return level[0].at;
  }

  std::vector<Child> put_leaves(const std::map<std::string_view, Entry>& entries) {
    std::vector<Child> leaves;
    auto entry = entries.begin();
    while (entry != entries.end()) {
      Child leaf{block_.reserve(kLeafBytes), 0};
      std::memcpy(block_.bytes.data() + leaf.at, "SNOD\1", 5);
      uint16_t count = 0;
      for (; entry != entries.end() && count < 2 * kLeaf; ++entry, ++count) {
        put_entry(leaf.at + 8 + 40 * count, entry->second);
        leaf.last_name = entry->second.name_at;
      }
      block_.put_at<uint16_t>(leaf.at + 6, count);
      leaves.push_back(leaf);
    }
    return leaves;
  }

  // Those of one height know their neighbours. Before and behind each child stands a name that all
  // of its own lie between; the first is empty.
  std::vector<Child> put_nodes(std::span<const Child> children, uint8_t height) {
    std::vector<Child> nodes;
    int64_t last_name = 0;
    do {
      const auto some = children.first(std::min<size_t>(children.size(), 2 * kNode));
      children = children.subspan(some.size());
      const int64_t node = block_.reserve(kNodeBytes);
      std::memcpy(block_.bytes.data() + node, "TREE", 4);
      block_.put_at<uint8_t>(node + 5, height);
      block_.put_at<uint16_t>(node + 6, static_cast<uint16_t>(some.size()));
      block_.put_at<int64_t>(node + 8, nodes.empty() ? kNowhere : nodes.back().at);
      if (!nodes.empty()) block_.put_at<int64_t>(nodes.back().at + 16, node);
      block_.put_at<int64_t>(node + 16, kNowhere);
      int64_t at = node + 24;
      block_.put_at<int64_t>(at, last_name);
      for (const Child& child : some) {
        last_name = child.last_name;
        block_.put_at<int64_t>(at + 8, child.at);
        block_.put_at<int64_t>(at += 16, last_name);
      }
      nodes.push_back({node, last_name});
    } while (!children.empty());
    return nodes;
  }

  void put_entry(int64_t at, const Entry& entry) {
    block_.put_at<int64_t>(at, entry.name_at);
    block_.put_at<int64_t>(at + 8, entry.place.header);
    block_.put_at<uint32_t>(at + 16, entry.is_group ? 1 : 0);
    if (!entry.is_group) return;
    block_.put_at<int64_t>(at + 24, entry.place.tree);
    block_.put_at<int64_t>(at + 32, entry.place.names);
  }

  size_t put_attributes(Hdf5Block& messages, const Hdf5Tree& tree) {
    for (const auto& [name, text] : tree.texts) put_texts(messages, name, {&text, 1}, space_of({}));
    for (const auto& [name, list] : tree.lists) {
      const std::array<int64_t, 1> shape = {std::ssize(list)};
      // An empty list is one of numbers, as NumPy has it.
      if (list.empty())
        put_message(messages, 0x0c,
                    attribute(name, type_of(DType::float64), space_of(shape), Hdf5Block()));
      else
        put_texts(messages, name, list, space_of(shape));
    }
    return tree.texts.size() + tree.lists.size();
  }

  void put_texts(Hdf5Block& messages, const std::string& name, std::span<const std::string> texts,
                 Hdf5Block space) {
    if (heaps_.empty() || heaps_.back().first.size() >= Hdf5TextHeap::kMostTexts)
      heaps_.emplace_back();
    Hdf5Block type, data;
    // Of variable length, UTF-8, made of bytes.
    for (const uint32_t word : {0x00010119u, 16u, 0x00000010u, 1u, 0x00080000u})
      type.put<uint32_t>(word);
    for (const std::string& text : texts) {
      data.put<uint32_t>(static_cast<uint32_t>(text.size()));
      data.put<int64_t>(0);
      data.put<uint32_t>(heaps_.back().first.add(text));
    }
    put_message(messages, 0x0c, attribute(name, std::move(type), std::move(space), data));
    // The heap's place, which is known later, stands 4 bytes into each 16.
    for (size_t i = 0; i < texts.size(); ++i) {
      const auto behind = static_cast<int64_t>(16 * (texts.size() - i));
      references_.push_back({heaps_.size() - 1, messages.size() - behind + 4});
    }
  }

  int64_t put_array(const Hdf5Array& array) {
    std::vector<int64_t> shape;
    for (int axis = 0; axis < array.type.shape.rank(); ++axis)
      shape.push_back(array.type.shape[axis]);
    Hdf5Block messages, fill, layout;
    put_message(messages, 0x01, space_of(shape));
    put_message(messages, 0x03, type_of(array.type.dtype));
    fill.put<uint64_t>(0x01020202);
    put_message(messages, 0x05, fill);
    const int64_t layout_at = messages.size() + 8;
    layout.put<uint16_t>(0x0103);
    layout.put<int64_t>(kNowhere);
    layout.put<uint64_t>(array.type.bytes());
    put_message(messages, 0x08, layout);
    block_.pad();
    const int64_t header = block_.size();
    put_header(block_, 4, messages);
    if (array.type.bytes() > 0) places_.emplace_back(header + 16 + layout_at + 2, &array);
    return header;
  }

  void place_arrays() {
    block_.pad();
    end_ = block_.size();
    pieces_.reserve(places_.size());
    for (const auto& [at, array] : places_) {
      const auto bytes = static_cast<int64_t>(array->type.bytes());
      block_.put_at<int64_t>(at, end_);
      pieces_.push_back({end_, bytes, array->type.dtype, array->data, array->fill});
      end_ += padded(bytes);
    }
  }

  struct TextReference {
    size_t heap;
    int64_t at;  // Behind the header of the group that is being put.
  };
  std::vector<TextReference> references_;
  std::vector<std::pair<Hdf5TextHeap, std::vector<int64_t>>> heaps_;
  std::vector<std::pair<int64_t, const Hdf5Array*>> places_;
};

template <typename T>
void fill_with(std::span<std::byte> into, size_t phase, double value) {
  const auto element = static_cast<T>(value);
  const auto bytes = std::as_bytes(std::span(&element, 1));
  for (size_t i = 0; i < into.size(); ++i) into[i] = bytes[(phase + i) % sizeof(T)];
}

void copy_elements(const Hdf5Piece& piece, int64_t from, std::span<std::byte> into) {
  if (piece.data != nullptr) {
    std::memcpy(into.data(), static_cast<const std::byte*>(piece.data) + from, into.size());
    return;
  }
  const auto phase = static_cast<size_t>(from);
  if (piece.fill == 0)
    std::ranges::fill(into, std::byte{0});
  else if (piece.dtype == DType::float32)
    fill_with<float>(into, phase, piece.fill);
  else if (piece.dtype == DType::float64)
    fill_with<double>(into, phase, piece.fill);
  else if (piece.dtype == DType::int64)
    fill_with<int64_t>(into, phase, piece.fill);
  else
    fill_with<int32_t>(into, phase, piece.fill);
}

}  // namespace

Hdf5Tree& Hdf5Tree::at(std::string_view path) {
  Hdf5Tree* tree = this;
  while (!path.empty()) {
    const size_t slash = std::min(path.find('/'), path.size());
    if (slash > 0) tree = &tree->groups[std::string(path.substr(0, slash))];
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return *tree;
}

Hdf5Image::Hdf5Image(const Hdf5Tree& tree) {
  Writer writer(tree);
  description_ = std::move(writer.block_.bytes);
  pieces_ = std::move(writer.pieces_);
  size_ = writer.end_;
}

void Hdf5Image::read(std::span<std::byte> into, int64_t offset) const {
  SNUG_CHECK(offset >= 0 && offset + std::ssize(into) <= size_, "bytes {} of {}", offset, size_);
  const int64_t described = std::ssize(description_);
  if (offset < described) {
    const auto count = static_cast<size_t>(std::min<int64_t>(described - offset, std::ssize(into)));
    std::memcpy(into.data(), description_.data() + offset, count);
    into = into.subspan(count);
    offset += static_cast<int64_t>(count);
  }
  auto piece = std::ranges::upper_bound(pieces_, offset, {}, &Hdf5Piece::offset);
  if (piece != pieces_.begin()) --piece;
  while (!into.empty()) {
    SNUG_CHECK(piece != pieces_.end(), "bytes from {} on", offset);
    const int64_t bytes = piece->bytes, whole = padded(bytes);
    const int64_t from = offset - piece->offset;
    const auto count = static_cast<size_t>(
        std::min<int64_t>(from < bytes ? bytes - from : whole - from, std::ssize(into)));
    if (from < bytes)
      copy_elements(*piece, from, into.first(count));
    else
      std::ranges::fill(into.first(count), std::byte{0});
    into = into.subspan(count);
    offset += static_cast<int64_t>(count);
    if (offset - piece->offset >= whole) ++piece;
  }
}

void Hdf5Image::write_to(File& file) const {
  std::vector<std::byte> buffer(std::min<size_t>(size_t{1} << 16, static_cast<size_t>(size_)));
  for (int64_t offset = 0; offset < size_;) {
    const auto count = std::min<size_t>(buffer.size(), static_cast<size_t>(size_ - offset));
    const std::span<std::byte> piece(buffer.data(), count);
    read(piece, offset);
    file.write_at(piece, offset);
    offset += static_cast<int64_t>(count);
  }
}

}  // namespace snug

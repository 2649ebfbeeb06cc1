// The layout (keras.md 3.4): superblock, then each group's header, heap of names, tree and leaves,
// each array's header, the texts, and last all elements.

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "snug/base/error.h"
#include "snug/interop/hdf5.h"

namespace snug {
namespace {

constexpr int64_t kNowhere = -1;
constexpr size_t kSmallestHeap = 4096;
constexpr size_t kMostTextsOfAHeap = 60'000;

// The same for every group of a file: entries of a leaf and leaves of a tree are at most twice
// this.
struct Fanout {
  int leaf = 4, tree = 16;

  explicit Fanout(size_t most_entries) {
    leaf = std::max(leaf, static_cast<int>(std::ceil(std::sqrt(most_entries) / 2)));
    const size_t leaves = most_entries / (2 * leaf) + 1;
    tree = std::max(tree, static_cast<int>(leaves / 2 + 1));
  }
  size_t leaf_bytes() const { return 8 + 2 * static_cast<size_t>(leaf) * 40; }
  size_t tree_bytes() const { return 24 + (4 * static_cast<size_t>(tree) + 1) * 8; }
};

size_t most_entries(const Hdf5Tree& tree) {
  size_t most = tree.groups.size() + tree.arrays.size();
  for (const auto& [name, group] : tree.groups) most = std::max(most, most_entries(group));
  return most;
}

// Bytes that grow; numbers are put at the end or, where room was left, in place.
class Block {
 public:
  int64_t size() const { return std::ssize(bytes); }
  template <typename T>
  void put(T value) {
    put_zeros(sizeof(T));
    std::memcpy(bytes.data() + bytes.size() - sizeof(T), &value, sizeof(T));
  }
  template <typename T>
  void put_at(int64_t offset, T value) {
    std::memcpy(bytes.data() + offset, &value, sizeof(T));
  }
  void put_text(std::string_view text) {
    const auto* from = reinterpret_cast<const std::byte*>(text.data());
    bytes.insert(bytes.end(), from, from + text.size());
  }
  void put_zeros(size_t count) { bytes.resize(bytes.size() + count); }
  void pad() { bytes.resize((bytes.size() + 7) / 8 * 8); }
  // Room for a structure that is filled in later.
  int64_t reserve(size_t count) {
    pad();
    const int64_t at = size();
    put_zeros(count);
    return at;
  }

  std::vector<std::byte> bytes;
};

void put_message(Block& block, uint16_t type, Block body) {
  body.pad();
  block.put<uint16_t>(type);
  block.put<uint16_t>(static_cast<uint16_t>(body.bytes.size()));
  block.put<uint32_t>(0);
  block.bytes.insert(block.bytes.end(), body.bytes.begin(), body.bytes.end());
}

// Version 1: the messages stand behind it.
void put_header(Block& block, uint16_t messages, const Block& body) {
  block.pad();
  block.put<uint8_t>(1);
  block.put<uint8_t>(0);
  block.put<uint16_t>(messages);
  block.put<uint32_t>(1);
  block.put<uint32_t>(static_cast<uint32_t>(body.bytes.size()));
  block.put<uint32_t>(0);
  block.bytes.insert(block.bytes.end(), body.bytes.begin(), body.bytes.end());
}

Block type_of(DType dtype) {
  Block type;
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

Block space_of(std::span<const int64_t> shape) {
  Block space;
  space.put<uint8_t>(1);
  space.put<uint8_t>(static_cast<uint8_t>(shape.size()));
  space.put_zeros(6);
  for (const int64_t extent : shape) space.put<int64_t>(extent);
  return space;
}

Block attribute(const std::string& name, Block type, Block space, const Block& data) {
  Block message;
  message.put<uint8_t>(1);
  message.put<uint8_t>(0);
  message.put<uint16_t>(static_cast<uint16_t>(name.size() + 1));
  message.put<uint16_t>(static_cast<uint16_t>(type.bytes.size()));
  message.put<uint16_t>(static_cast<uint16_t>(space.bytes.size()));
  message.put_text(name);
  message.put<uint8_t>(0);
  for (Block* part : {&type, &space}) {
    message.pad();
    message.bytes.insert(message.bytes.end(), part->bytes.begin(), part->bytes.end());
  }
  message.pad();
  message.bytes.insert(message.bytes.end(), data.bytes.begin(), data.bytes.end());
  return message;
}

// Texts of any length, all together; attributes refer to them by place and number.
class TextHeap {
 public:
  // Returns the number; place() says where it will stand.
  uint32_t add(const std::string& text) {
    texts_.push_back(&text);
    return static_cast<uint32_t>(texts_.size());
  }
  size_t size() const { return texts_.size(); }

  void put(Block& block) const {
    const int64_t start = block.size();
    block.put_text("GCOL");
    block.put<uint32_t>(1);
    block.put<uint64_t>(0);
    for (size_t i = 0; i < texts_.size(); ++i) {
      block.put<uint16_t>(static_cast<uint16_t>(i + 1));
      block.put<uint16_t>(1);
      block.put<uint32_t>(0);
      block.put<uint64_t>(texts_[i]->size());
      block.put_text(*texts_[i]);
      block.pad();
    }
    const auto used = static_cast<size_t>(block.size() - start);
    // The rest is an object of number 0, which has room for its own head.
    const size_t total = std::max(kSmallestHeap, used + 16);
    block.put<uint64_t>(0);
    block.put<uint64_t>(total - used);
    block.put_zeros(total - used - 16);
    block.put_at<uint64_t>(start + 8, total);
  }

 private:
  std::vector<const std::string*> texts_;
};

class Writer {
 public:
  explicit Writer(const Hdf5Tree& tree) : fanout_(most_entries(tree)) {
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

  struct Placed {
    int64_t offset;
    Hdf5Array array;
  };
  Block block_;
  std::vector<Placed> arrays_;
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

  void put_superblock() {
    block_.put_text("\x89HDF\r\n\x1a\n");
    block_.put_zeros(5);
    block_.put<uint8_t>(8);
    block_.put<uint8_t>(8);
    block_.put<uint8_t>(0);
    block_.put<uint16_t>(static_cast<uint16_t>(fanout_.leaf));
    block_.put<uint16_t>(static_cast<uint16_t>(fanout_.tree));
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
    Block messages, table;
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
    Block names;
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

  int64_t put_tree(const std::map<std::string_view, Entry>& entries) {
    const size_t of_leaf = 2 * static_cast<size_t>(fanout_.leaf);
    const int64_t tree = block_.reserve(fanout_.tree_bytes());
    std::memcpy(block_.bytes.data() + tree, "TREE", 4);
    int64_t key = tree + 32;
    uint16_t leaves = 0;
    block_.put_at<int64_t>(tree + 8, kNowhere);
    block_.put_at<int64_t>(tree + 16, kNowhere);
    auto entry = entries.begin();
    while (entry != entries.end()) {
      const int64_t leaf = block_.reserve(fanout_.leaf_bytes());
      std::memcpy(block_.bytes.data() + leaf, "SNOD\1", 5);
      uint16_t count = 0;
      int64_t last_name = 0;
      for (; entry != entries.end() && count < of_leaf; ++entry, ++count) {
        put_entry(leaf + 8 + 40 * count, entry->second);
        last_name = entry->second.name_at;
      }
      block_.put_at<uint16_t>(leaf + 6, count);
      block_.put_at<int64_t>(key, leaf);
      block_.put_at<int64_t>(key + 8, last_name);
      key += 16;
      ++leaves;
    }
    block_.put_at<uint16_t>(tree + 6, leaves);
    return tree;
  }

  void put_entry(int64_t at, const Entry& entry) {
    block_.put_at<int64_t>(at, entry.name_at);
    block_.put_at<int64_t>(at + 8, entry.place.header);
    block_.put_at<uint32_t>(at + 16, entry.is_group ? 1 : 0);
    if (!entry.is_group) return;
    block_.put_at<int64_t>(at + 24, entry.place.tree);
    block_.put_at<int64_t>(at + 32, entry.place.names);
  }

  size_t put_attributes(Block& messages, const Hdf5Tree& tree) {
    for (const auto& [name, text] : tree.texts) put_texts(messages, name, {&text, 1}, space_of({}));
    for (const auto& [name, list] : tree.lists) {
      const std::array<int64_t, 1> shape = {std::ssize(list)};
      // An empty list is one of numbers, as NumPy has it.
      if (list.empty())
        put_message(messages, 0x0c,
                    attribute(name, type_of(DType::float64), space_of(shape), Block()));
      else
        put_texts(messages, name, list, space_of(shape));
    }
    return tree.texts.size() + tree.lists.size();
  }

  void put_texts(Block& messages, const std::string& name, std::span<const std::string> texts,
                 Block space) {
    if (heaps_.empty() || heaps_.back().first.size() >= kMostTextsOfAHeap) heaps_.emplace_back();
    Block type, data;
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
    Block messages, fill, layout;
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
    if (array.type.bytes() > 0) places_.push_back({header + 16 + layout_at + 2, array});
    return header;
  }

  void place_arrays() {
    block_.pad();
    end_ = block_.size();
    for (const auto& [at, array] : places_) {
      block_.put_at<int64_t>(at, end_);
      arrays_.push_back({end_, array});
      end_ += static_cast<int64_t>((array.type.bytes() + 7) / 8 * 8);
    }
  }

  struct TextReference {
    size_t heap;
    int64_t at;  // Behind the header of the group that is being put.
  };
  Fanout fanout_;
  std::vector<TextReference> references_;
  std::vector<std::pair<TextHeap, std::vector<int64_t>>> heaps_;
  std::vector<std::pair<int64_t, Hdf5Array>> places_;
};

template <typename T>
void fill_with(std::span<std::byte> into, size_t phase, double value) {
  const auto element = static_cast<T>(value);
  const auto bytes = std::as_bytes(std::span(&element, 1));
  for (size_t i = 0; i < into.size(); ++i) into[i] = bytes[(phase + i) % sizeof(T)];
}

void copy_elements(const Hdf5Array& array, int64_t from, std::span<std::byte> into) {
  if (array.data != nullptr) {
    std::memcpy(into.data(), static_cast<const std::byte*>(array.data) + from, into.size());
    return;
  }
  const auto phase = static_cast<size_t>(from);
  if (array.fill == 0)
    std::ranges::fill(into, std::byte{0});
  else if (array.type.dtype == DType::float32)
    fill_with<float>(into, phase, array.fill);
  else if (array.type.dtype == DType::float64)
    fill_with<double>(into, phase, array.fill);
  else if (array.type.dtype == DType::int64)
    fill_with<int64_t>(into, phase, array.fill);
  else
    fill_with<int32_t>(into, phase, array.fill);
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
  for (const Writer::Placed& placed : writer.arrays_)
    pieces_.push_back({placed.offset, placed.array});
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
  auto piece = std::ranges::upper_bound(pieces_, offset, {}, &Piece::offset);
  if (piece != pieces_.begin()) --piece;
  while (!into.empty()) {
    SNUG_CHECK(piece != pieces_.end(), "bytes from {} on", offset);
    const auto bytes = static_cast<int64_t>(piece->array.type.bytes());
    const int64_t from = offset - piece->offset;
    const int64_t whole = (bytes + 7) / 8 * 8;
    const auto count = static_cast<size_t>(
        std::min<int64_t>(from < bytes ? bytes - from : whole - from, std::ssize(into)));
    if (from < bytes)
      copy_elements(piece->array, from, into.first(count));
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

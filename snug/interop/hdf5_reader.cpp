#include <algorithm>
#include <bit>
#include <cstring>
#include <set>

#include "snug/base/error.h"
#include "snug/interop/hdf5.h"

namespace snug {
namespace {

static_assert(std::endian::native == std::endian::little, "HDF5 files of Keras are little-endian");

constexpr int64_t kMostDescription = int64_t{256} << 20;  // Bytes read that are not elements.
constexpr int64_t kMostOfOnePiece = int64_t{16} << 20;
constexpr int kMostObjects = 200'000;
constexpr int kDeepest = 64;
constexpr size_t kLongestName = 1024;

// Bytes of a structure, read one number after the other.
class Bytes {
 public:
  Bytes(std::vector<std::byte> bytes, std::string where)
      : bytes_(std::move(bytes)), where_(std::move(where)) {}

  template <typename T>
  T number() {
    T value;
    std::memcpy(&value, take(sizeof(T)), sizeof(T));
    return value;
  }
  int64_t address() { return number<int64_t>(); }
  const std::byte* take(size_t count) {
    if (count > left()) throw CorruptFile("{}: a part of it is too short", where_);
    at_ += count;
    return bytes_.data() + at_ - count;
  }
  void skip(size_t count) { take(count); }
  size_t left() const { return bytes_.size() - at_; }
  size_t at() const { return at_; }
  Bytes part(size_t count) {
    const std::byte* from = take(count);
    return {std::vector<std::byte>(from, from + count), where_};
  }
  void expect(std::string_view magic) {
    if (std::memcmp(take(magic.size()), magic.data(), magic.size()) != 0)
      throw CorruptFile("{}: a part that should begin with {} does not", where_, magic);
  }
  // Up to the first zero.
  std::string text_at(size_t offset) const {
    if (offset >= bytes_.size()) throw CorruptFile("{}: a name is out of its place", where_);
    const auto* from = reinterpret_cast<const char*>(bytes_.data()) + offset;
    const size_t length = ::strnlen(from, bytes_.size() - offset);
    if (length == bytes_.size() - offset) throw CorruptFile("{}: a name has no end", where_);
    return {from, length};
  }

 private:
  std::vector<std::byte> bytes_;
  std::string where_;
  size_t at_ = 0;
};

struct DataType {
  std::string name = "unknown";
  size_t bytes = 0;
  bool is_text = false;           // Fixed length.
  bool is_variable_text = false;  // By reference into a global heap.
};

DataType read_type(Bytes message) {
  const auto word = message.number<uint32_t>();
  DataType type{.bytes = message.number<uint32_t>()};
  const uint32_t kind = word & 0x0f, flags = word >> 8;
  const bool big_endian = (flags & 1) != 0;
  if (kind == 0 && !big_endian && type.bytes <= 8) {
    const bool is_signed = (flags & 8) != 0;
    type.name = fmt::format("{}int{}", is_signed ? "" : "u", 8 * type.bytes);
  } else if (kind == 1 && !big_endian && (flags & 0x40) == 0) {
    // The IEEE formats that Keras writes, by the places of exponent and mantissa.
    const auto offset = message.number<uint16_t>(), precision = message.number<uint16_t>();
    const auto exponent = message.number<uint16_t>(), mantissa = message.number<uint16_t>();
    const auto is = [&](size_t bytes, int at, int bits) {
      return type.bytes == bytes && precision == 8 * bytes && offset == 0 &&
             exponent == (at | bits << 8) && mantissa == at << 8;
    };
    if (is(4, 23, 8)) type.name = "float32";
    if (is(8, 52, 11)) type.name = "float64";
    if (is(2, 10, 5)) type.name = "float16";
  } else if (kind == 3) {
    type.is_text = true;
  } else if (kind == 9 && (flags & 0x0f) == 1) {
    type.is_variable_text = true;
  }
  return type;
}

class Reader {
 public:
  Reader(File& file, const std::string& where) : file_(file), where_(where), size_(file.size()) {}

  Hdf5Group read() {
    Bytes block = bytes_at(0, std::min<int64_t>(size_, 100));
    block.expect("\x89HDF\r\n\x1a\n");
    const auto version = block.number<uint8_t>();
    if (version > 1) {
      throw Error(
          "{}: it has the newer HDF5 layout (superblock {}), which Keras does not write; load it "
          "in "
          "Keras and save it again",
          where_, version);
    }
    block.skip(4);
    const auto offset_bytes = block.number<uint8_t>(), length_bytes = block.number<uint8_t>();
    block.skip(1 + 2 + 2 + 4 + (version == 1 ? 4 : 0));
    const int64_t base = block.address();
    block.skip(8);
    const int64_t end = block.address();
    block.skip(8 + 8);
    if (offset_bytes != 8 || length_bytes != 8 || base != 0)
      throw Error("{}: Snug reads HDF5 files with 8-byte addresses from 0 only", where_);
    if (end > size_ || end < 0)
      throw CorruptFile("{}: it is cut off: {} bytes are there of {}", where_, size_, end);
    return group_at(block.address(), "", 0);
  }

 private:
  [[noreturn]] void refuse(const std::string& path, std::string_view what) const {
    throw Error("{}: \"{}\" {}; Snug reads what Keras writes only", where_, path, what);
  }

  Bytes bytes_at(int64_t offset, int64_t count) {
    if (offset < 0 || count < 0 || offset > size_ || count > size_ - offset)
      throw CorruptFile("{}: a part of it lies outside the file", where_);
    read_ += count;
    if (count > kMostOfOnePiece || read_ > kMostDescription)
      throw CorruptFile("{}: its description is larger than any model's", where_);
    std::vector<std::byte> bytes(static_cast<size_t>(count));
    file_.read_exactly_at(bytes, offset);
    return {std::move(bytes), where_};
  }

  struct Message {
    uint16_t type;
    Bytes body;
  };

  // An object header of version 1, with the blocks that continue it.
  std::vector<Message> messages_at(int64_t address, const std::string& path) {
    Bytes head = bytes_at(address, std::min<int64_t>(16, std::max<int64_t>(0, size_ - address)));
    if (head.left() >= 4 && std::memcmp(head.take(4), "OHDR", 4) == 0)
      refuse(path, "has the newer HDF5 layout");
    head = bytes_at(address, 16);
    if (head.number<uint8_t>() != 1) throw CorruptFile("{}: \"{}\" has no header", where_, path);
    head.skip(1);
    const int count = head.number<uint16_t>();
    head.skip(4);
    std::vector<std::pair<int64_t, int64_t>> blocks = {{address + 16, head.number<uint32_t>()}};
    std::vector<Message> messages;
    for (size_t i = 0; i < blocks.size() && i < 1000; ++i) {
      Bytes block = bytes_at(blocks[i].first, blocks[i].second);
      while (block.left() >= 8 && static_cast<int>(messages.size()) < count) {
        const auto type = block.number<uint16_t>(), size = block.number<uint16_t>();
        const auto flags = block.number<uint8_t>();
        block.skip(3);
        Bytes body = block.part(size);
        if ((flags & 2) != 0) refuse(path, "shares a part with another object");
        if (type == 0x10) {
          const int64_t at = body.address();
          blocks.emplace_back(at, body.address());
        }
        messages.push_back({type, std::move(body)});
      }
    }
    return messages;
  }

  Hdf5Group group_at(int64_t address, const std::string& path, int depth) {
    if (depth > kDeepest || !groups_.insert(address).second)
      refuse(path, "is inside itself or too deep");
    return group_of(messages_at(address, path), path, depth);
  }

  Hdf5Group group_of(std::vector<Message> messages, const std::string& path, int depth) {
    Hdf5Group group;
    for (Message& message : messages) {
      if (message.type == 0x11) {
        const int64_t tree = message.body.address(), heap = message.body.address();
        Bytes names = heap_at(heap);
        add_entries(group, tree, names, path, depth, 0);
      } else if (message.type == 0x0c) {
        add_attribute(group, std::move(message.body));
      } else if (message.type == 0x02 || message.type == 0x06 || message.type == 0x0a) {
        refuse(path, "has the newer HDF5 layout or links to elsewhere");
      }
    }
    return group;
  }

  Bytes heap_at(int64_t address) {
    Bytes heap = bytes_at(address, 32);
    heap.expect("HEAP");
    heap.skip(4);
    const int64_t size = heap.address();
    heap.skip(8);
    return bytes_at(heap.address(), size);
  }

  void add_entries(Hdf5Group& group, int64_t address, Bytes& names, const std::string& path,
                   int depth, int tree_depth) {
    if (tree_depth > 8 || ++nodes_ > kMostObjects)
      throw CorruptFile("{}: \"{}\" has a list without end", where_, path);
    Bytes head = bytes_at(address, 8);
    if (std::memcmp(head.take(4), "SNOD", 4) == 0) {
      head.skip(2);
      return add_leaf(group, address, head.number<uint16_t>(), names, path, depth);
    }
    Bytes node = bytes_at(address, 24);
    node.expect("TREE");
    if (node.number<uint8_t>() != 0) refuse(path, "has a list of another kind");
    node.skip(1);
    const int64_t count = node.number<uint16_t>();
    Bytes children = bytes_at(address + 24, count * 16 + 8);
    for (int64_t i = 0; i < count; ++i) {
      children.skip(8);
      add_entries(group, children.address(), names, path, depth, tree_depth + 1);
    }
  }

  void add_leaf(Hdf5Group& group, int64_t address, int count, Bytes& names, const std::string& path,
                int depth) {
    Bytes entries = bytes_at(address + 8, int64_t{40} * count);
    for (int i = 0; i < count; ++i) {
      const auto name_at = entries.number<uint64_t>();
      const int64_t header = entries.address();
      const auto kind = entries.number<uint32_t>();
      entries.skip(4 + 16);
      const std::string name = names.text_at(name_at);
      const std::string inner = path.empty() ? name : path + "/" + name;
      if (name.empty() || name.size() > kLongestName || name.find('/') != std::string::npos)
        throw CorruptFile("{}: \"{}\" has a name that HDF5 does not allow", where_, path);
      if (++objects_ > kMostObjects) refuse(inner, "is one of too many objects");
      if (kind == 2) refuse(inner, "is a link to elsewhere");
      add_object(group, name, header, inner, depth);
    }
  }

  void add_object(Hdf5Group& group, const std::string& name, int64_t header,
                  const std::string& path, int depth) {
    std::vector<Message> messages = messages_at(header, path);
    const bool is_array = std::ranges::count(messages, 0x08, &Message::type) > 0;
    if (group.groups.contains(name) || group.datasets.contains(name))
      refuse(path, "is there twice");
    if (is_array) {
      group.datasets.emplace(name, dataset_of(std::move(messages), path));
      return;
    }
    if (depth >= kDeepest || !groups_.insert(header).second)
      refuse(path, "is inside itself or too deep");
    group.groups.emplace(name, group_of(std::move(messages), path, depth + 1));
  }

  Hdf5Dataset dataset_of(std::vector<Message> messages, const std::string& path) {
    Hdf5Dataset dataset{.file = &file_};
    DataType type;
    bool has_space = false, has_place = false;
    for (Message& message : messages) {
      if (message.type == 0x01) {
        dataset.shape = space_of(std::move(message.body), path);
        has_space = true;
      } else if (message.type == 0x03) {
        type = read_type(std::move(message.body));
      } else if (message.type == 0x07) {
        refuse(path, "has its data in another file");
      } else if (message.type == 0x0b) {
        refuse(path, "is compressed");
      } else if (message.type == 0x08) {
        place(dataset, std::move(message.body), path);
        has_place = true;
      }
    }
    dataset.dtype = type.name;
    int64_t bytes = static_cast<int64_t>(type.bytes);
    for (const int64_t extent : dataset.shape) {
      if (extent < 0 || (extent > 0 && bytes > kMostBytes / extent))
        throw CorruptFile("{}: \"{}\" declares a shape that no file holds", where_, path);
      bytes *= extent;
    }
    if (!has_space || !has_place || type.bytes == 0 || bytes != dataset.bytes)
      throw CorruptFile("{}: \"{}\" has {} bytes where its shape and type need {}", where_, path,
                        dataset.bytes, bytes);
    return dataset;
  }

  std::vector<int64_t> space_of(Bytes message, const std::string& path) {
    const auto version = message.number<uint8_t>(), rank = message.number<uint8_t>();
    message.skip(version == 1 ? 6 : 2);
    if (version < 1 || version > 2 || rank > 32) refuse(path, "has a shape of an unknown kind");
    std::vector<int64_t> shape;
    for (int i = 0; i < rank; ++i) shape.push_back(message.address());
    return shape;
  }

  void place(Hdf5Dataset& dataset, Bytes message, const std::string& path) {
    const auto version = message.number<uint8_t>(), kind = message.number<uint8_t>();
    if (version != 3) refuse(path, "is virtual or of an unknown kind");
    if (kind != 1) refuse(path, "is chunked or compact");
    dataset.offset = message.address();
    dataset.bytes = message.address();
    if (dataset.bytes == 0) dataset.offset = 0;
    if (dataset.offset < 0 || dataset.bytes < 0 || dataset.offset > size_ ||
        dataset.bytes > size_ - dataset.offset)
      throw CorruptFile("{}: \"{}\" reaches beyond the end of the file", where_, path);
  }

  static size_t padded(size_t bytes) { return (bytes + 7) / 8 * 8; }

  void add_attribute(Hdf5Group& group, Bytes message) {
    const auto version = message.number<uint8_t>();
    message.skip(1);
    const size_t name_bytes = message.number<uint16_t>(), type_bytes = message.number<uint16_t>(),
                 space_bytes = message.number<uint16_t>();
    if (version == 3) message.skip(1);
    const auto padding = [&](size_t bytes) { return version == 1 ? padded(bytes) : bytes; };
    const std::string name = message.part(padding(name_bytes)).text_at(0);
    const DataType type = read_type(message.part(padding(type_bytes)));
    const std::vector<int64_t> shape = space_of(message.part(padding(space_bytes)), name);
    if (!type.is_text && !type.is_variable_text) return;
    if (shape.size() > 1 || type.bytes == 0) return;
    const size_t count = message.left() / type.bytes;
    if (!shape.empty() && static_cast<uint64_t>(shape[0]) > count)
      throw CorruptFile("{}: the attribute {} is cut off", where_, name);
    std::vector<std::string>& texts = group.attributes[name];
    for (int64_t i = 0; i < (shape.empty() ? 1 : shape[0]); ++i) {
      Bytes element = message.part(type.bytes);
      texts.push_back(type.is_text ? fixed_text(element, type.bytes) : heap_text(element));
    }
  }

  static std::string fixed_text(Bytes& element, size_t bytes) {
    const auto* from = reinterpret_cast<const char*>(element.take(bytes));
    return {from, ::strnlen(from, bytes)};
  }

  // In a global heap: {length, heap, index}.
  std::string heap_text(Bytes& element) {
    const auto length = element.number<uint32_t>();
    const int64_t address = element.address();
    const auto index = element.number<uint32_t>();
    if (length == 0) return {};
    const std::map<uint32_t, std::string>& heap = global_heap_at(address);
    const auto found = heap.find(index);
    if (found == heap.end() || found->second.size() < length)
      throw CorruptFile("{}: a text of it is missing", where_);
    return found->second.substr(0, length);
  }

  const std::map<uint32_t, std::string>& global_heap_at(int64_t address) {
    const auto [found, is_new] = heaps_.try_emplace(address);
    if (!is_new) return found->second;
    Bytes head = bytes_at(address, 16);
    head.expect("GCOL");
    head.skip(4);
    Bytes heap = bytes_at(address, head.address());
    heap.skip(16);
    while (heap.left() >= 16) {
      const auto index = heap.number<uint16_t>();
      heap.skip(6);
      const auto size = heap.number<uint64_t>();
      if (index == 0) break;
      if (size > heap.left()) throw CorruptFile("{}: a text of it is cut off", where_);
      const auto* from = reinterpret_cast<const char*>(heap.take(size));
      found->second.emplace(index, std::string(from, size));
      heap.skip(std::min(heap.left(), padded(size) - size));
    }
    return found->second;
  }

  static constexpr int64_t kMostBytes = int64_t{1} << 50;

  File& file_;
  std::string where_;
  int64_t size_;
  int64_t read_ = 0;
  int objects_ = 0, nodes_ = 0;
  std::set<int64_t> groups_;
  std::map<int64_t, std::map<uint32_t, std::string>> heaps_;
};

}  // namespace

Hdf5Group read_hdf5(File& file, const std::string& where) { return Reader(file, where).read(); }

}  // namespace snug

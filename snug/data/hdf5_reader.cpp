#include <algorithm>
#include <cstring>
#include <set>

#include "snug/base/error.h"
#include "snug/data/hdf5_bytes.h"
#include "snug/data/hdf5_layout.h"
#include "snug/data/hdf5_links.h"
#include "snug/data/hdf5_tree.h"

namespace snug {
namespace {

constexpr int kMostObjects = 200'000;
constexpr int kDeepest = 64;
constexpr size_t kLongestName = 1024;

using Bytes = Hdf5Bytes;

class Reader {
 public:
  Reader(File& file, const std::string& where) : input_(file, where), where_(where) {}

  Hdf5Group read() {
    find_start();
    Bytes block = input_.up_to(0, 100);
    block.skip(8);
    const auto version = block.number<uint8_t>();
    if (version > 3) throw Error("{}: it has superblock {}, which is not known", where_, version);
    if (version < 2) block.skip(4);
    const auto offset_bytes = block.number<uint8_t>(), length_bytes = block.number<uint8_t>();
    if (offset_bytes != 8 || length_bytes != 8)
      throw Error("{}: Snug reads HDF5 files with 8-byte addresses only", where_);
    block.skip(version >= 2 ? 1 : 1 + 2 + 2 + 4 + (version == 1 ? 4 : 0));
    block.skip(8 + 8);  // The base, which is where it was found, and free space or an extension.
    const int64_t end = block.address();
    if (version < 2) block.skip(8 + 8);
    const int64_t size = input_.file().size();
    if (end > size || end < 0)
      throw CorruptFile("{}: it is cut off: {} bytes are there of {}", where_, size, end);
    return group_at(block.address(), "", 0);
  }

 private:
  [[noreturn]] void refuse(const std::string& path, std::string_view what) const {
    throw Error("{}: \"{}\" {}, which is not read", where_, path, what);
  }

  // At 0, or behind a block of the user's own: 512, 1024, 2048, ... (MATLAB).
  void find_start() {
    for (int64_t at = 0; at + 48 <= input_.file().size(); at = at == 0 ? 512 : 2 * at) {
      input_.set_base(at);
      if (input_.up_to(0, 8).is("\x89HDF\r\n\x1a\n")) return;
    }
    input_.set_base(0);
    throw CorruptFile("{}: a part that should begin with HDF does not: it is no HDF5 file", where_);
  }

  using Message = Hdf5Message;

  std::vector<Message> messages_at(int64_t address, const std::string& path) {
    std::vector<Message> messages = hdf5_messages(input_, address, path);
    if (shares_a_part(messages)) refuse(path, kShares);
    return messages;
  }

  static constexpr const char* kShares = "shares a part with another object";
  static bool shares_a_part(const std::vector<Message>& messages) {
    return std::ranges::any_of(
        messages, [](const Message& message) { return message.shared && message.type != 0x0c; });
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
      } else if (message.type == 0x0c && !message.shared) {
        add_attribute_if_read(group, std::move(message.body));
      } else if (message.type == 0x02) {
        hdf5_dense_links(input_, std::move(message.body),
                         [&](Bytes link) { add_link(group, std::move(link), path, depth); });
      } else if (message.type == 0x06) {
        add_link(group, std::move(message.body), path, depth);
      }
    }
    return group;
  }

  Bytes heap_at(int64_t address) {
    Bytes heap = input_.at(address, 32);
    heap.expect("HEAP");
    heap.skip(4);
    const int64_t size = heap.address();
    heap.skip(8);
    return input_.at(heap.address(), size);
  }

  void add_entries(Hdf5Group& group, int64_t address, Bytes& names, const std::string& path,
                   int depth, int tree_depth) {
    if (tree_depth > 8 || ++nodes_ > kMostObjects)
      throw CorruptFile("{}: \"{}\" has a list without end", where_, path);
    Bytes head = input_.at(address, 8);
    if (std::memcmp(head.take(4), "SNOD", 4) == 0) {
      head.skip(2);
      return add_leaf(group, address, head.number<uint16_t>(), names, path, depth);
    }
    Bytes node = input_.at(address, 24);
    node.expect("TREE");
    if (node.number<uint8_t>() != 0) refuse(path, "has a list of another kind");
    node.skip(1);
    const int64_t count = node.number<uint16_t>();
    Bytes children = input_.at(address + 24, count * 16 + 8);
    for (int64_t i = 0; i < count; ++i) {
      children.skip(8);
      add_entries(group, children.address(), names, path, depth, tree_depth + 1);
    }
  }

  void add_leaf(Hdf5Group& group, int64_t address, int count, Bytes& names, const std::string& path,
                int depth) {
    Bytes entries = input_.at(address + 8, int64_t{40} * count);
    for (int i = 0; i < count; ++i) {
      const auto name_at = entries.number<uint64_t>();
      const int64_t header = entries.address();
      const auto kind = entries.number<uint32_t>();
      entries.skip(4 + 16);
      const std::string name = names.text_at(name_at);
      const std::string inner = checked_name(name, path);
      if (kind == 2) {
        add_unread(group, name, "is a link to elsewhere");
      } else {
        add_object(group, name, header, inner, depth);
      }
    }
  }

  std::string checked_name(const std::string& name, const std::string& path) {
    if (name.empty() || name.size() > kLongestName || name.find('/') != std::string::npos)
      throw CorruptFile("{}: \"{}\" has a name that HDF5 does not allow", where_, path);
    std::string inner = path.empty() ? name : path + "/" + name;
    if (++objects_ > kMostObjects) refuse(inner, "is one of too many objects");
    return inner;
  }

  void add_link(Hdf5Group& group, Bytes body, const std::string& path, int depth) {
    const Hdf5Link link = hdf5_link(std::move(body), where_);
    const std::string inner = checked_name(link.name, path);
    if (!link.is_hard) return add_unread(group, link.name, "is a link to elsewhere");
    add_object(group, link.name, link.address, inner, depth);
  }

  // Only who wants this array is troubled by it.
  void add_unread(Hdf5Group& group, const std::string& name, const std::string& why) {
    group.datasets[name] = {.dtype = "unknown", .not_read = why, .file = &input_.file()};
  }

  void add_object(Hdf5Group& group, const std::string& name, int64_t header,
                  const std::string& path, int depth) {
    std::vector<Message> messages = hdf5_messages(input_, header, path);
    const bool is_array = std::ranges::count(messages, 0x08, &Message::type) > 0;
    const bool shares = shares_a_part(messages);
    if (shares && !is_array) refuse(path, kShares);
    if (group.groups.contains(name) || group.datasets.contains(name))
      refuse(path, "is there twice");
    if (shares) return add_unread(group, name, kShares);
    if (is_array) {
      group.datasets.emplace(name, dataset_of(std::move(messages), path));
      return;
    }
    if (depth >= kDeepest || !groups_.insert(header).second)
      refuse(path, "is inside itself or too deep");
    group.groups.emplace(name, group_of(std::move(messages), path, depth + 1));
  }

  Hdf5Dataset dataset_of(std::vector<Message> messages, const std::string& path) {
    try {
      return hdf5_dataset(input_, std::move(messages), where_ + ": \"" + path + "\"");
    } catch (const Hdf5NotRead& reason) {
      return {.dtype = "unknown", .not_read = reason.what(), .file = &input_.file()};
    }
  }

  static size_t padded(size_t bytes) { return (bytes + 7) / 8 * 8; }

  // As with those of types that are not read, nobody may want it.
  void add_attribute_if_read(Hdf5Group& group, Bytes message) {
    try {
      add_attribute(group, std::move(message));
    } catch (const Hdf5NotRead&) {
      return;
    }
  }

  void add_attribute(Hdf5Group& group, Bytes message) {
    const auto version = message.number<uint8_t>();
    message.skip(1);
    const size_t name_bytes = message.number<uint16_t>(), type_bytes = message.number<uint16_t>(),
                 space_bytes = message.number<uint16_t>();
    if (version == 3) message.skip(1);
    const auto padding = [&](size_t bytes) { return version == 1 ? padded(bytes) : bytes; };
    const std::string name = message.part(padding(name_bytes)).text_at(0);
    const Hdf5Type type = hdf5_type(message.part(padding(type_bytes)));
    const std::vector<int64_t> shape = hdf5_space(message.part(padding(space_bytes))).shape;
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
    Bytes head = input_.at(address, 16);
    head.expect("GCOL");
    head.skip(4);
    Bytes heap = input_.at(address, head.address());
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

  Hdf5Input input_;
  std::string where_;
  int objects_ = 0, nodes_ = 0;
  std::set<int64_t> groups_;
  std::map<int64_t, std::map<uint32_t, std::string>> heaps_;
};

}  // namespace

Hdf5Group read_hdf5(File& file, const std::string& where) { return Reader(file, where).read(); }

}  // namespace snug

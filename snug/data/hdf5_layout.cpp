#include "snug/data/hdf5_layout.h"

#include <algorithm>

namespace snug {
namespace {

constexpr int64_t kMostBytes = int64_t{1} << 50;
constexpr size_t kMostBlocks = 1000;
constexpr size_t kMostMessages = 100'000;

// Messages of version 1 up to the end of a block.
void read_old_block(Hdf5Bytes block, size_t most, std::vector<Hdf5Message>& messages) {
  while (block.left() >= 8 && messages.size() < most) {
    const auto type = block.number<uint16_t>(), size = block.number<uint16_t>();
    const auto flags = block.number<uint8_t>();
    block.skip(3);
    messages.push_back({type, (flags & 2) != 0, block.part(size)});
  }
}

void read_new_block(Hdf5Bytes block, bool ordered, std::vector<Hdf5Message>& messages) {
  const size_t head = ordered ? 6 : 4;
  while (block.left() >= head && messages.size() < kMostMessages) {
    const auto type = block.number<uint8_t>();
    const auto size = block.number<uint16_t>();
    const auto flags = block.number<uint8_t>();
    if (ordered) block.skip(2);
    messages.push_back({type, (flags & 2) != 0, block.part(size)});
  }
}

// The blocks that messages from `first` on name as continuations.
void add_continuations(const std::vector<Hdf5Message>& messages, size_t first,
                       std::vector<std::pair<int64_t, int64_t>>& blocks) {
  for (size_t i = first; i < messages.size(); ++i) {
    if (messages[i].type != 0x10) continue;
    Hdf5Bytes body = messages[i].body;
    const int64_t at = body.address();
    blocks.emplace_back(at, body.address());
  }
}

std::vector<Hdf5Message> read_old_header(Hdf5Input& input, int64_t address,
                                         const std::string& path) {
  Hdf5Bytes head = input.at(address, 16);
  if (head.number<uint8_t>() != 1)
    throw CorruptFile("{}: \"{}\" has no header", input.where(), path);
  head.skip(1);
  const size_t count = head.number<uint16_t>();
  head.skip(4);
  std::vector<std::pair<int64_t, int64_t>> blocks = {{address + 16, head.number<uint32_t>()}};
  std::vector<Hdf5Message> messages;
  for (size_t i = 0; i < blocks.size() && i < kMostBlocks; ++i) {
    const size_t first = messages.size();
    read_old_block(input.at(blocks[i].first, blocks[i].second), count, messages);
    add_continuations(messages, first, blocks);
  }
  return messages;
}

std::vector<Hdf5Message> read_new_header(Hdf5Input& input, int64_t address,
                                         const std::string& path) {
  Hdf5Bytes head = input.up_to(address, 64);
  const size_t before = head.left();
  head.expect("OHDR");
  if (head.number<uint8_t>() != 2)
    throw CorruptFile("{}: \"{}\" has no header", input.where(), path);
  const auto flags = head.number<uint8_t>();
  if ((flags & 0x20) != 0) head.skip(16);
  if ((flags & 0x10) != 0) head.skip(4);
  const auto size = static_cast<int64_t>(head.number_of(size_t{1} << (flags & 3)));
  const auto start = address + static_cast<int64_t>(before - head.left());
  const bool ordered = (flags & 4) != 0;
  std::vector<Hdf5Message> messages;
  read_new_block(input.at(start, size), ordered, messages);
  std::vector<std::pair<int64_t, int64_t>> blocks;
  add_continuations(messages, 0, blocks);
  for (size_t i = 0; i < blocks.size() && i < kMostBlocks; ++i) {
    Hdf5Bytes block = input.at(blocks[i].first, blocks[i].second);
    block.expect("OCHK");
    const size_t first = messages.size();
    if (block.left() < 4) throw CorruptFile("{}: a part of it is too short", input.where());
    read_new_block(block.part(block.left() - 4), ordered, messages);
    add_continuations(messages, first, blocks);
  }
  return messages;
}

// A whole number, where `word` says so.
Hdf5Type whole_type(uint32_t word, uint32_t bytes) {
  const uint32_t kind = word & 0x0f, flags = word >> 8;
  Hdf5Type type{.bytes = bytes};
  type.swapped = kind <= 1 && (flags & 1) != 0 && bytes > 1;
  const bool whole = bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
  if (kind == 0 && whole)
    type.name = fmt::format("{}int{}", (flags & 8) != 0 ? "" : "u", 8 * bytes);
  return type;
}

std::string float_name(Hdf5Bytes& message, size_t bytes) {
  const auto offset = message.number<uint16_t>(), precision = message.number<uint16_t>();
  const auto exponent = message.number<uint16_t>(), mantissa = message.number<uint16_t>();
  // By the places of exponent and mantissa.
  const auto is = [&](size_t size, int at, int bits) {
    return bytes == size && precision == 8 * size && offset == 0 && exponent == (at | bits << 8) &&
           mantissa == at << 8;
  };
  if (is(4, 23, 8)) return "float32";
  if (is(8, 52, 11)) return "float64";
  if (is(2, 10, 5)) return "float16";
  return "unknown";
}

void read_filters(Hdf5Bytes message, std::vector<Hdf5Filter>& filters) {
  const auto version = message.number<uint8_t>(), count = message.number<uint8_t>();
  if (version != 1 && version != 2) throw Hdf5NotRead("has filters of an unknown kind");
  if (version == 1) message.skip(6);
  for (int i = 0; i < count; ++i) {
    Hdf5Filter filter{.kind = message.number<uint16_t>()};
    const bool named = version == 1 || filter.kind >= 256;
    const size_t name = named ? message.number<uint16_t>() : 0;
    message.skip(2);
    const size_t values = message.number<uint16_t>();
    filter.name = message.text(version == 1 ? (name + 7) / 8 * 8 : name).c_str();
    message.skip(4 * values + (version == 1 && values % 2 == 1 ? 4 : 0));
    filters.push_back(filter);
  }
}

void read_fill(Hdf5Bytes message, std::vector<std::byte>& fill) {
  const auto version = message.number<uint8_t>();
  bool defined = true;
  if (version == 3) {
    defined = (message.number<uint8_t>() & 0x20) != 0;
  } else {
    message.skip(2);
    defined = message.number<uint8_t>() != 0 || version == 1;
  }
  if (!defined || message.left() < 4) return;
  const auto size = message.number<uint32_t>();
  if (size > message.left() || size > 8) return;
  const std::byte* bytes = message.take(size);
  fill.assign(bytes, bytes + size);
}

// Chunks in the older way: a tree of version 1.
void read_old_chunks(Hdf5Bytes& message, Hdf5Dataset& dataset) {
  const auto rank = message.number<uint8_t>();
  dataset.chunks.address = message.address();
  for (int i = 0; i + 1 < rank; ++i) dataset.chunks.shape.push_back(message.number<uint32_t>());
}

void read_new_chunks(Hdf5Bytes& message, Hdf5Dataset& dataset) {
  Hdf5Chunks& chunks = dataset.chunks;
  const auto flags = message.number<uint8_t>(), rank = message.number<uint8_t>();
  const size_t size = message.number<uint8_t>();
  for (int i = 0; i < rank; ++i) {
    const auto extent = static_cast<int64_t>(message.number_of(size));
    if (i + 1 < rank) chunks.shape.push_back(extent);
  }
  const auto index = message.number<uint8_t>();
  if (index < 1 || index > 5) throw Hdf5NotRead("has chunks of an unknown kind");
  constexpr Hdf5Chunks::Index kIndices[] = {
      Hdf5Chunks::Index::single, Hdf5Chunks::Index::implicit, Hdf5Chunks::Index::fixed_array,
      Hdf5Chunks::Index::extensible_array, Hdf5Chunks::Index::tree_2};
  chunks.index = kIndices[index - 1];
  chunks.whole_edges = (flags & 1) == 0;
  if (chunks.index == Hdf5Chunks::Index::single && (flags & 2) != 0) {
    chunks.single_bytes = message.address();
    chunks.single_mask = message.number<uint32_t>();
  }
  constexpr size_t kSettings[] = {0, 0, 1, 5, 6};  // They stand in the index itself too.
  message.skip(kSettings[index - 1]);
  chunks.address = message.address();
}

void read_place(Hdf5Input& input, Hdf5Bytes message, Hdf5Dataset& dataset) {
  const auto version = message.number<uint8_t>(), kind = message.number<uint8_t>();
  if (version < 3 || version > 5) throw Hdf5NotRead("is virtual or of an unknown kind");
  if (kind > 2) throw Hdf5NotRead("is virtual or of an unknown kind");
  if (kind == 2) {
    return version == 3 ? read_old_chunks(message, dataset) : read_new_chunks(message, dataset);
  }
  if (kind == 0) {
    dataset.bytes = message.number<uint16_t>();
    const std::byte* from = message.take(static_cast<size_t>(dataset.bytes));
    dataset.held.assign(from, from + dataset.bytes);
    return;
  }
  dataset.offset = message.address();
  dataset.bytes = message.address();
  if (dataset.bytes == 0) dataset.offset = 0;
  if (dataset.offset == kHdf5Nowhere) throw Hdf5NotRead("was never written");
  if (!input.holds(dataset.offset, dataset.bytes)) {
    throw CorruptFile("{}: an array reaches beyond the end of the file", input.where());
  }
  dataset.offset += input.base();
}

// Of all elements; throws where no file holds that many.
int64_t bytes_of(const Hdf5Dataset& dataset, const std::string& where) {
  auto bytes = static_cast<int64_t>(dataset.element_bytes);
  bool empty = false;
  for (const int64_t extent : dataset.shape) {
    if (extent < 0 || (extent > 0 && bytes > kMostBytes / extent))
      throw CorruptFile("{} declares a shape that no file holds", where);
    empty |= extent == 0;
    bytes *= std::max<int64_t>(extent, 1);
  }
  return empty ? 0 : bytes;
}

void check_chunks(const Hdf5Dataset& dataset, const std::string& where) {
  const std::vector<int64_t>& chunk = dataset.chunks.shape;
  bool fits = chunk.size() == dataset.shape.size();
  int64_t bytes = static_cast<int64_t>(std::max<size_t>(dataset.element_bytes, 1));
  for (const int64_t extent : chunk) {
    fits = fits && extent > 0 && bytes <= kMostBytes / extent;
    if (fits) bytes *= extent;
  }
  if (!fits) throw CorruptFile("{} has chunks that do not fit its shape", where);
}

}  // namespace

std::vector<Hdf5Message> hdf5_messages(Hdf5Input& input, int64_t address, const std::string& path) {
  if (input.up_to(address, 4).is("OHDR")) return read_new_header(input, address, path);
  return read_old_header(input, address, path);
}

Hdf5Type hdf5_type(Hdf5Bytes message) {
  const auto word = message.number<uint32_t>();
  Hdf5Type type = whole_type(word, message.number<uint32_t>());
  const uint32_t kind = word & 0x0f, flags = word >> 8;
  if (kind == 1 && (flags & 0x40) == 0) {
    type.name = float_name(message, type.bytes);
  } else if (kind == 3) {
    type.is_text = true;
  } else if (kind == 8) {
    // Of whole numbers, and not of enumerations, which would go as deep as a file likes.
    const auto base_word = message.number<uint32_t>();
    const Hdf5Type base = whole_type(base_word, message.number<uint32_t>());
    if (base.bytes == type.bytes) return base;
  } else if (kind == 9 && (flags & 0x0f) == 1) {
    type.is_variable_text = true;
  }
  return type;
}

Hdf5Space hdf5_space(Hdf5Bytes message) {
  const auto version = message.number<uint8_t>(), rank = message.number<uint8_t>();
  if (version < 1 || version > 2 || rank > 32) throw Hdf5NotRead("has a shape of an unknown kind");
  const auto flags = message.number<uint8_t>();
  if (version == 2 && message.number<uint8_t>() == 2) throw Hdf5NotRead("has no elements");
  if (version == 1) message.skip(5);
  Hdf5Space space;
  for (int i = 0; i < rank; ++i) space.shape.push_back(message.address());
  space.most = space.shape;
  for (int i = 0; i < rank && (flags & 1) != 0; ++i) space.most[i] = message.address();
  return space;
}

Hdf5Dataset hdf5_dataset(Hdf5Input& input, std::vector<Hdf5Message> messages,
                         const std::string& where) {
  Hdf5Dataset dataset{.base = input.base(), .file = &input.file()};
  bool has_space = false, has_place = false;
  for (Hdf5Message& message : messages) {
    if (message.type == 0x01) {
      Hdf5Space space = hdf5_space(std::move(message.body));
      dataset.shape = std::move(space.shape);
      dataset.most = std::move(space.most);
      has_space = true;
    } else if (message.type == 0x03) {
      const Hdf5Type type = hdf5_type(std::move(message.body));
      dataset.dtype = type.name;
      dataset.element_bytes = type.bytes;
      dataset.swapped = type.swapped;
    } else if (message.type == 0x05) {
      read_fill(std::move(message.body), dataset.fill);
    } else if (message.type == 0x07) {
      throw Hdf5NotRead("has its data in another file");
    } else if (message.type == 0x0b) {
      read_filters(std::move(message.body), dataset.chunks.filters);
    } else if (message.type == 0x08) {
      if (has_place) throw CorruptFile("{} has two places", where);
      read_place(input, std::move(message.body), dataset);
      has_place = true;
    }
  }
  const int64_t bytes = bytes_of(dataset, where);
  if (!has_space || !has_place) throw CorruptFile("{} is not whole", where);
  if (dataset.is_chunked()) {
    check_chunks(dataset, where);
    dataset.bytes = bytes;
  } else if (bytes != dataset.bytes) {
    throw CorruptFile("{} has {} bytes where its shape and type need {}", where, dataset.bytes,
                      bytes);
  }
  if (!dataset.is_chunked() && !dataset.chunks.filters.empty())
    throw CorruptFile("{} is compressed, but not in chunks", where);
  return dataset;
}

}  // namespace snug

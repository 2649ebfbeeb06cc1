#include "snug/train/checkpoint_layout.h"

#include <algorithm>

#include "snug/base/checksum.h"

namespace snug::checkpoint_layout {
namespace {

constexpr size_t kChecksumAt = 24;

// Of all but the field that holds it.
uint64_t header_checksum(std::span<const std::byte> bytes) {
  Checksum sum;
  sum.add(bytes.first(kChecksumAt));
  sum.add(bytes.subspan(kHeaderBytes));
  return sum.value();
}

}  // namespace

std::vector<std::byte> header_bytes(const std::vector<TableEntry>& table, uint64_t file_bytes) {
  CheckpointOutput out;
  out.bytes(std::as_bytes(std::span(kMagic)));
  out.number(kVersion);
  out.number(static_cast<uint32_t>(table.size()));
  out.number(file_bytes);
  out.number(uint64_t{0});
  for (const TableEntry& entry : table) {
    SNUG_CHECK(entry.name.size() < kNameBytes, "a section named {}", entry.name);
    std::byte name[kNameBytes] = {};
    std::memcpy(name, entry.name.data(), entry.name.size());
    out.bytes(name);
    out.number(entry.offset);
    out.number(entry.bytes);
    out.number(entry.checksum);
    out.number(uint64_t{0});
  }
  std::vector<std::byte> bytes = out.take();
  const uint64_t sum = header_checksum(bytes);
  std::memcpy(bytes.data() + kChecksumAt, &sum, sizeof(sum));
  return bytes;
}

Header read_header(std::span<const std::byte> bytes, int64_t file_bytes, const std::string& where) {
  if (bytes.size() < kHeaderBytes || std::memcmp(bytes.data(), kMagic, sizeof(kMagic)) != 0) {
    throw CorruptFile("{}: it does not begin as a checkpoint does; is it one?", where);
  }
  CheckpointInput in(bytes.subspan(sizeof(kMagic)), where);
  const auto version = in.number<uint32_t>();
  if (version != kVersion) {
    throw CorruptFile("{}: it is of version {}, and this Snug reads version {}", where, version,
                      kVersion);
  }
  Header header{.sections = in.number<uint32_t>()};
  header.file_bytes = in.number<uint64_t>();
  header.checksum = in.number<uint64_t>();
  const uint64_t least = kHeaderBytes + uint64_t{header.sections} * kEntryBytes;
  if (header.file_bytes != static_cast<uint64_t>(file_bytes) || least > header.file_bytes ||
      header.sections > kMostSections) {
    throw CorruptFile(
        "{}: it has {} bytes instead of {}; it was cut short or is damaged: take an "
        "older checkpoint",
        where, file_bytes, header.file_bytes);
  }
  return header;
}

std::vector<TableEntry> read_table(std::span<const std::byte> bytes, int64_t file_bytes,
                                   const std::string& where) {
  const Header header = read_header(bytes.first(kHeaderBytes), file_bytes, where);
  if (header_checksum(bytes) != header.checksum) {
    throw CorruptFile("{}: its list of sections is damaged; take an older checkpoint", where);
  }
  std::vector<TableEntry> table;
  CheckpointInput in(bytes.subspan(kHeaderBytes), where);
  for (uint32_t i = 0; i < header.sections; ++i) {
    const auto name = in.bytes(kNameBytes);
    const auto end = std::ranges::find(name, std::byte{0});
    TableEntry entry{.name = {reinterpret_cast<const char*>(name.data()),
                              static_cast<size_t>(end - name.begin())}};
    entry.offset = in.number<uint64_t>();
    entry.bytes = in.number<uint64_t>();
    entry.checksum = in.number<uint64_t>();
    in.number<uint64_t>();
    const auto size = static_cast<uint64_t>(file_bytes);
    if (entry.offset > size || entry.bytes > size - entry.offset) {
      throw CorruptFile("{}: the section \"{}\" lies outside the file; take an older checkpoint",
                        where, entry.name);
    }
    table.push_back(std::move(entry));
  }
  return table;
}

}  // namespace snug::checkpoint_layout

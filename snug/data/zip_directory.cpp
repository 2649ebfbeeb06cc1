// The directory at the end of a zip file (PKWARE's APPNOTE 4.3), zip64 included.

#include <algorithm>
#include <cstring>
#include <span>

#include "snug/base/error.h"
#include "snug/data/npz.h"

namespace snug {
namespace {

constexpr int64_t kMostComment = 65535;
constexpr int64_t kMostDirectoryBytes = int64_t{16} << 20;

template <typename T>
T number_at(std::span<const std::byte> bytes, size_t at) {
  T value = 0;
  SNUG_CHECK(at + sizeof(T) <= bytes.size());
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}

[[noreturn]] void refuse(const File& file, std::string_view what) {
  throw DataError("{}: {}; copy or save the file again", file.path().string(), what);
}

std::vector<std::byte> bytes_at(File& file, int64_t offset, int64_t count) {
  if (offset < 0 || count < 0 || offset > file.size() - count) {
    refuse(file, "its zip directory points behind its end, so it is cut off or damaged");
  }
  std::vector<std::byte> bytes(static_cast<size_t>(count));
  file.read_exactly_at(bytes, offset);
  return bytes;
}

struct Directory {
  int64_t offset = 0, bytes = 0, members = 0;
};

// The record that ends the file; its comment may hide it.
Directory find_directory(File& file) {
  constexpr int64_t kEndBytes = 22, kLocatorBytes = 20, kEnd64Bytes = 56;
  const int64_t size = file.size();
  const int64_t start = std::max<int64_t>(0, size - kEndBytes - kMostComment);
  const std::vector<std::byte> tail = bytes_at(file, start, size - start);
  int64_t at = std::ssize(tail) - kEndBytes;
  while (at >= 0 && number_at<uint32_t>(tail, static_cast<size_t>(at)) != 0x06054b50u) --at;
  if (at < 0)
    refuse(file, "it is no .npz file, or is cut off: the directory of a zip file is missing");
  const auto place = static_cast<size_t>(at);
  Directory directory{.offset = number_at<uint32_t>(tail, place + 16),
                      .bytes = number_at<uint32_t>(tail, place + 12),
                      .members = number_at<uint16_t>(tail, place + 10)};
  const int64_t locator_at = start + at - kLocatorBytes;
  if (locator_at < 0) return directory;
  const std::vector<std::byte> locator = bytes_at(file, locator_at, kLocatorBytes);
  if (number_at<uint32_t>(locator, 0) != 0x07064b50u) return directory;
  const auto end64_at = number_at<int64_t>(locator, 8);
  const std::vector<std::byte> end64 = bytes_at(file, end64_at, kEnd64Bytes);
  if (number_at<uint32_t>(end64, 0) != 0x06064b50u) refuse(file, "its zip64 directory is damaged");
  return {.offset = number_at<int64_t>(end64, 48),
          .bytes = number_at<int64_t>(end64, 40),
          .members = number_at<int64_t>(end64, 32)};
}

// Sizes that do not fit 32 bits stand in an extra field, in this order, only those that need it.
void read_extra(std::span<const std::byte> extra, NpzMember& member) {
  for (size_t at = 0; at + 4 <= extra.size();) {
    const auto id = number_at<uint16_t>(extra, at);
    const auto size = number_at<uint16_t>(extra, at + 2);
    at += 4;
    if (at + size > extra.size()) return;
    if (id == 1) {
      size_t field = at;
      for (int64_t* value : {&member.bytes, &member.packed_bytes, &member.offset}) {
        if (*value != 0xffffffff || field + 8 > at + size) continue;
        *value = number_at<int64_t>(extra, field);
        field += 8;
      }
    }
    at += size;
  }
}

// From the member's own header, whose name and extra field may differ in length.
void find_start(File& file, NpzMember& member) {
  constexpr int64_t kLocalBytes = 30;
  const std::vector<std::byte> local = bytes_at(file, member.offset, kLocalBytes);
  if (number_at<uint32_t>(local, 0) != 0x04034b50u) refuse(file, "a member of it is damaged");
  member.offset += kLocalBytes + number_at<uint16_t>(local, 26) + number_at<uint16_t>(local, 28);
  if (member.packed_bytes < 0 || member.bytes < 0 || member.offset < 0 ||
      member.offset > file.size() - member.packed_bytes) {
    refuse(file,
           fmt::format("its member {} reaches behind its end, so it is cut off", member.name));
  }
}

}  // namespace

std::vector<NpzMember> zip_members(File& file) {
  constexpr size_t kEntryBytes = 46;
  const Directory directory = find_directory(file);
  if (directory.bytes > kMostDirectoryBytes) {
    refuse(file,
           fmt::format("its zip directory claims {} bytes, more than any has", directory.bytes));
  }
  const std::vector<std::byte> bytes = bytes_at(file, directory.offset, directory.bytes);
  std::vector<NpzMember> members;
  for (size_t at = 0; std::ssize(members) < directory.members;) {
    if (at + kEntryBytes > bytes.size() || number_at<uint32_t>(bytes, at) != 0x02014b50u) {
      refuse(file, "its zip directory is damaged");
    }
    const auto flags = number_at<uint16_t>(bytes, at + 8);
    const auto method = number_at<uint16_t>(bytes, at + 10);
    const size_t name = number_at<uint16_t>(bytes, at + 28);
    const size_t extra = number_at<uint16_t>(bytes, at + 30);
    const size_t comment = number_at<uint16_t>(bytes, at + 32);
    if (at + kEntryBytes + name + extra > bytes.size())
      refuse(file, "its zip directory is damaged");
    NpzMember member{
        .name = std::string(reinterpret_cast<const char*>(bytes.data() + at + kEntryBytes), name),
        .deflated = method == 8,
        .checksum = number_at<uint32_t>(bytes, at + 16),
        .offset = number_at<uint32_t>(bytes, at + 42),
        .packed_bytes = number_at<uint32_t>(bytes, at + 20),
        .bytes = number_at<uint32_t>(bytes, at + 24)};
    if ((flags & 1) != 0 || (method != 0 && method != 8)) {
      refuse(file, fmt::format(
                       "its member {} is {}", member.name,
                       (flags & 1) != 0 ? "encrypted" : "packed in a way that NumPy does not use"));
    }
    read_extra(std::span(bytes).subspan(at + kEntryBytes + name, extra), member);
    find_start(file, member);
    if (!member.deflated && member.bytes != member.packed_bytes) {
      refuse(file, fmt::format("its member {} has two sizes", member.name));
    }
    members.push_back(std::move(member));
    at += kEntryBytes + name + extra + comment;
  }
  return members;
}

}  // namespace snug

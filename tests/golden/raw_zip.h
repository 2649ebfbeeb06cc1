// Zip archives byte by byte, for tests: libzip itself would not write what hostile ones hold.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace snug::testing {

struct RawMember {
  std::string name, data;
  uint16_t method = 0, flags = 0;
  uint32_t attributes = 0;  // As Unix has them, in the upper half.
  uint32_t size = 0;        // Declared; 0: what it is.
  bool wrong_checksum = false;
};

inline uint32_t checksum(const std::string& text) {
  uint32_t crc = ~0u;
  for (const char c : text) {
    crc ^= static_cast<uint8_t>(c);
    for (int i = 0; i < 8; ++i) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0u);
  }
  return ~crc;
}

template <typename T>
void put(std::string& into, T value) {
  into.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

inline std::string raw_zip(const std::vector<RawMember>& members) {
  std::string zip, list;
  for (const RawMember& member : members) {
    const auto offset = static_cast<uint32_t>(zip.size());
    const auto stored = static_cast<uint32_t>(member.data.size());
    std::string common;
    put<uint16_t>(common, 20);
    put<uint16_t>(common, member.flags);
    put<uint16_t>(common, member.method);
    put<uint32_t>(common, 0x00210000);
    put<uint32_t>(common, checksum(member.data) + (member.wrong_checksum ? 1 : 0));
    put<uint32_t>(common, stored);
    put<uint32_t>(common, member.size != 0 ? member.size : stored);
    put<uint16_t>(common, static_cast<uint16_t>(member.name.size()));
    put<uint16_t>(common, 0);
    zip += "PK\3\4" + common + member.name + member.data;
    list += "PK\1\2";
    put<uint16_t>(list, 3 << 8 | 20);
    list += common;
    put<uint16_t>(list, 0);
    put<uint32_t>(list, 0);
    put<uint32_t>(list, member.attributes);
    put<uint32_t>(list, offset);
    list += member.name;
  }
  const auto start = static_cast<uint32_t>(zip.size());
  zip += list + "PK\5\6";
  put<uint32_t>(zip, 0);
  put<uint16_t>(zip, static_cast<uint16_t>(members.size()));
  put<uint16_t>(zip, static_cast<uint16_t>(members.size()));
  put<uint32_t>(zip, static_cast<uint32_t>(list.size()));
  put<uint32_t>(zip, start);
  put<uint16_t>(zip, 0);
  return zip;
}

}  // namespace snug::testing

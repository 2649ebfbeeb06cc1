// The fixed part of a checkpoint file: the header and the table of sections.
#pragma once

#include "snug/train/byte_stream.h"

namespace snug::checkpoint_layout {

inline constexpr char kMagic[8] = {'S', 'N', 'U', 'G', 'C', 'K', 'P', 'T'};
inline constexpr uint32_t kVersion = 1;
inline constexpr size_t kHeaderBytes = 32;
inline constexpr size_t kEntryBytes = 64;
inline constexpr size_t kNameBytes = 32;
inline constexpr size_t kAlignment = 64;        // Of sections in the file, and of values in theirs.
inline constexpr size_t kPieceBytes = 1 << 20;  // Read and written at a time.
inline constexpr uint32_t kMostSections = 10'000;
inline constexpr const char* kVariables = "variables";
inline constexpr const char* kValues = "values";

constexpr uint64_t aligned(uint64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

struct TableEntry {
  std::string name;
  uint64_t offset = 0, bytes = 0, checksum = 0;
};

struct Header {
  uint32_t sections = 0;
  uint64_t file_bytes = 0;
  uint64_t checksum = 0;
};

// Header and table.
std::vector<std::byte> header_bytes(const std::vector<TableEntry>& table, uint64_t file_bytes);
// From the first kHeaderBytes of a file of `file_bytes`. Throws CorruptFile.
Header read_header(std::span<const std::byte> bytes, int64_t file_bytes, const std::string& where);
// From header and table; names, places and the checksum of both are checked.
std::vector<TableEntry> read_table(std::span<const std::byte> bytes, int64_t file_bytes,
                                   const std::string& where);

}  // namespace snug::checkpoint_layout

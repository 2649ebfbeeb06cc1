// Rows of 32-bit words, in memory or in a file of ours: what a text file is parsed into, once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "snug/base/file.h"
#include "snug/tensor/arena.h"

namespace snug {

class PackedRows {
 public:
  virtual ~PackedRows() = default;
  // Rows [first, first + rows.size() / words) to `rows`.
  virtual void read(int64_t first, std::span<uint32_t> rows) = 0;
  // Whether several threads may read at once.
  virtual bool is_shared() const { return true; }
  // Where `count` rows stand that are held in memory; else null.
  virtual const uint32_t* held(int64_t /*first*/, int64_t /*count*/) const { return nullptr; }
  // A pass begins: throws FileError when the file has changed since it was opened.
  virtual void check() {}
  virtual size_t buffer_bytes() const = 0;
};

// Rows that are held.
class MemoryRows final : public PackedRows {
 public:
  // Rows that are still to be written, through rows().
  MemoryRows(int64_t count, size_t words)
      : words_(words),
        size_(static_cast<size_t>(count) * words),
        memory_(size_ * sizeof(uint32_t)) {}

  std::span<uint32_t> rows() { return {reinterpret_cast<uint32_t*>(memory_.data()), size_}; }
  void read(int64_t first, std::span<uint32_t> rows) override;
  const uint32_t* held(int64_t first, int64_t count) const override;
  size_t buffer_bytes() const override { return memory_.bytes(); }

 private:
  size_t words_, size_;
  Arena memory_;
};

// A file of packed rows: "SNUGROWS", a version, the sizes, a description (JSON), then the rows from
// a multiple of 64 bytes on. It has its name only when it is whole.
class PackedFile final : public PackedRows {
 public:
  // Null where there is no such file. Throws CorruptFile for one that is no packed file or is cut
  // off.
  static std::unique_ptr<PackedFile> open(FileSystem& files, const Path& path);

  const std::string& description() const { return description_; }
  int64_t rows() const { return rows_; }
  void read(int64_t first, std::span<uint32_t> rows) override;
  void check() override;
  size_t buffer_bytes() const override { return 0; }

 private:
  std::unique_ptr<File> file_;
  std::string description_;
  int64_t rows_ = 0;
  size_t words_ = 0;
  int64_t offset_ = 0;  // Of the first row.
};

// Writes such a file into one that write_atomically has opened.
class PackedWriter {
 public:
  // `most_description_bytes` are kept free for the description, which is known last.
  PackedWriter(File& file, size_t words, size_t most_description_bytes);
  void append(std::span<const uint32_t> rows);
  void finish(std::string_view description);
  // Written so far.
  int64_t bytes() const { return offset_ + rows_ * static_cast<int64_t>(words_ * 4); }

 private:
  void write(std::span<const uint32_t> rows);
  void flush();

  File& file_;
  size_t words_;
  int64_t offset_;
  int64_t rows_ = 0;
  std::vector<uint32_t> buffer_;
};

}  // namespace snug

// The fuzzer's bytes as the only file there is but what readers write, and all that a source has,
// read.
#pragma once

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "snug/base/file.h"
#include "snug/data/source.h"

namespace snug::fuzz {

class InputFile final : public File {
 public:
  InputFile(const Path& path, std::span<const uint8_t> bytes) : File(path), bytes_(bytes) {}

  int64_t size() override { return std::ssize(bytes_); }
  void truncate(int64_t) override { throw file_error(path(), "change it", EROFS); }
  void sync() override {}
  void close() override {}

 protected:
  size_t read_some(std::span<std::byte> into, int64_t offset) override {
    if (offset >= size()) return 0;
    const size_t count = std::min(into.size(), bytes_.size() - static_cast<size_t>(offset));
    std::memcpy(into.data(), bytes_.data() + offset, count);
    return count;
  }
  size_t write_some(std::span<const std::byte>, int64_t) override {
    throw file_error(path(), "write to it", EROFS);
  }
  size_t append_some(std::span<const std::byte> from) override { return write_some(from, 0); }

 private:
  std::span<const uint8_t> bytes_;
};

// What a reader puts into its cache: kept in memory, and not much of it.
class WrittenFile final : public File {
 public:
  using Bytes = std::vector<std::byte>;
  static constexpr size_t kMostBytes = size_t{4} << 20;

  WrittenFile(const Path& path, std::shared_ptr<Bytes> bytes)
      : File(path), bytes_(std::move(bytes)) {}

  int64_t size() override { return std::ssize(*bytes_); }
  void truncate(int64_t size) override {
    if (static_cast<size_t>(size) > kMostBytes) throw file_error(path(), "write to it", ENOSPC);
    bytes_->resize(static_cast<size_t>(size));
  }
  void sync() override {}
  void close() override {}

 protected:
  size_t read_some(std::span<std::byte> into, int64_t offset) override {
    if (offset >= size()) return 0;
    const size_t count = std::min(into.size(), bytes_->size() - static_cast<size_t>(offset));
    std::memcpy(into.data(), bytes_->data() + offset, count);
    return count;
  }
  size_t write_some(std::span<const std::byte> from, int64_t offset) override {
    truncate(std::max(size(), offset + std::ssize(from)));
    std::ranges::copy(from, bytes_->begin() + offset);
    return from.size();
  }
  size_t append_some(std::span<const std::byte> from) override { return write_some(from, size()); }

 private:
  std::shared_ptr<Bytes> bytes_;
};

class InputFiles final : public FileSystem {
 public:
  explicit InputFiles(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  std::unique_ptr<File> open(const Path& path, OpenMode mode) override {
    if (!is_written(path)) return std::make_unique<InputFile>(path, bytes_);
    std::shared_ptr<WrittenFile::Bytes>& bytes = written_[path.string()];
    if (!bytes && mode == OpenMode::read) throw file_error(path, "open it", ENOENT);
    if (!bytes || mode == OpenMode::write) bytes = std::make_shared<WrittenFile::Bytes>();
    return std::make_unique<WrittenFile>(path, bytes);
  }
  std::optional<int64_t> size(const Path& path) override {
    if (!is_written(path)) return std::ssize(bytes_);
    const auto found = written_.find(path.string());
    return found == written_.end() || !found->second
               ? std::nullopt
               : std::optional<int64_t>(std::ssize(*found->second));
  }
  std::vector<std::string> list(const Path&) override { return {"input"}; }
  void rename(const Path& from, const Path& to) override {
    written_[to.string()] = std::move(written_[from.string()]);
    remove(from);
  }
  bool remove(const Path& path) override { return written_.erase(path.string()) > 0; }
  void create_directories(const Path&) override {}
  void sync_directory(const Path&) override {}
  int64_t free_bytes(const Path&) override { return WrittenFile::kMostBytes; }

 private:
  // All that stands in a folder.
  static bool is_written(const Path& path) { return path.has_parent_path(); }

  std::span<const uint8_t> bytes_;
  std::map<std::string, std::shared_ptr<WrittenFile::Bytes>> written_;
};

// Reads up to 64 rows of each field, backwards, as both types that slots have. Rows of more
// elements than the limit are left alone: a file that has them is larger than any input.
inline void read_all(Source& source) {
  constexpr int64_t kMostElements = 1 << 20;
  const int64_t count = std::min<int64_t>(*source.rows(), 64);
  std::vector<int64_t> rows;
  for (int64_t row = count - 1; row >= 0; --row) rows.push_back(row);
  for (int field = 0; field < std::ssize(source.fields()); ++field) {
    const int64_t width = source.fields()[field].row.size(), elements = count * width;
    if (elements > kMostElements) continue;
    std::vector<int32_t> slot(static_cast<size_t>(elements));
    for (const DType dtype : {DType::float32, DType::int32}) {
      try {
        source.read(field, rows, {{dtype, {count, width}}, slot.data()});
      } catch (const DataError&) {
        continue;  // A row that cannot be trained on.
      }
    }
  }
}

}  // namespace snug::fuzz

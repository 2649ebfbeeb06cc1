// A disk that passes every call on to another one; a test overrides what is to be different.
#pragma once

#include <memory>
#include <utility>

#include "snug/base/file.h"

namespace snug::testing {

// `inner` must outlive it.
class ForwardingFiles : public FileSystem {
 public:
  explicit ForwardingFiles(FileSystem& inner) : inner_(inner) {}

  std::unique_ptr<File> open(const Path& path, OpenMode mode) override {
    return inner_.open(path, mode);
  }
  std::optional<int64_t> size(const Path& path) override { return inner_.size(path); }
  std::vector<std::string> list(const Path& path) override { return inner_.list(path); }
  void rename(const Path& from, const Path& to) override { inner_.rename(from, to); }
  bool remove(const Path& path) override { return inner_.remove(path); }
  void create_directories(const Path& path) override { inner_.create_directories(path); }
  void sync_directory(const Path& path) override { inner_.sync_directory(path); }
  int64_t free_bytes(const Path& path) override { return inner_.free_bytes(path); }

 protected:
  FileSystem& inner() const { return inner_; }

 private:
  FileSystem& inner_;
};

class ForwardingFile : public File {
 public:
  explicit ForwardingFile(std::unique_ptr<File> inner)
      : File(inner->path()), inner_(std::move(inner)) {}

  int64_t size() override { return inner_->size(); }
  void truncate(int64_t size) override { inner_->truncate(size); }
  void allocate(int64_t size) override { inner_->allocate(size); }
  int descriptor() const override { return inner_->descriptor(); }
  void sync() override { inner_->sync(); }
  void close() override { inner_->close(); }

 protected:
  File& inner() const { return *inner_; }

  size_t read_some(std::span<std::byte> into, int64_t offset) override {
    return inner_->read_at(into, offset);
  }
  size_t write_some(std::span<const std::byte> from, int64_t offset) override {
    inner_->write_at(from, offset);
    return from.size();
  }
  size_t append_some(std::span<const std::byte> from) override {
    inner_->append(from);
    return from.size();
  }

 private:
  std::unique_ptr<File> inner_;
};

}  // namespace snug::testing

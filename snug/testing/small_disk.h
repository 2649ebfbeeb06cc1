// For tests: a disk with little room left, by its own account.
#pragma once

#include "snug/base/file.h"

namespace snug::testing {

class SmallDisk final : public FileSystem {
 public:
  SmallDisk(FileSystem& inner, int64_t free_bytes) : inner_(inner), free_bytes_(free_bytes) {}

  std::unique_ptr<File> open(const Path& path, OpenMode mode) override {
    return inner_.open(path, mode);
  }
  std::optional<int64_t> size(const Path& path) override { return inner_.size(path); }
  std::vector<std::string> list(const Path& path) override { return inner_.list(path); }
  void rename(const Path& from, const Path& to) override { inner_.rename(from, to); }
  bool remove(const Path& path) override { return inner_.remove(path); }
  void create_directories(const Path& path) override { inner_.create_directories(path); }
  void sync_directory(const Path& path) override { inner_.sync_directory(path); }
  int64_t free_bytes(const Path&) override { return free_bytes_; }

 private:
  FileSystem& inner_;
  int64_t free_bytes_;
};

}  // namespace snug::testing

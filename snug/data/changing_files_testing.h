// Files of which one changes while it is read, for tests.
#pragma once

#include <string>
#include <utility>

#include "snug/testing/memory_files.h"

namespace snug::testing {

// Puts another text in the place of a file when it is opened for the n-th time, from 1 on.
class ChangingFiles final : public FileSystem {
 public:
  ChangingFiles(FileSystem& inner, Path path, int changed_open, std::string text)
      : inner_(inner), path_(std::move(path)), left_(changed_open), text_(std::move(text)) {}

  std::unique_ptr<File> open(const Path& path, OpenMode mode) override {
    if (path == path_ && --left_ == 0) write_text(inner_, path, text_);
    return inner_.open(path, mode);
  }
  std::optional<int64_t> size(const Path& path) override { return inner_.size(path); }
  std::vector<std::string> list(const Path& path) override { return inner_.list(path); }
  void rename(const Path& from, const Path& to) override { inner_.rename(from, to); }
  bool remove(const Path& path) override { return inner_.remove(path); }
  void create_directories(const Path& path) override { inner_.create_directories(path); }
  void sync_directory(const Path& path) override { inner_.sync_directory(path); }
  int64_t free_bytes(const Path& path) override { return inner_.free_bytes(path); }

 private:
  FileSystem& inner_;
  Path path_;
  int left_;
  std::string text_;
};

}  // namespace snug::testing

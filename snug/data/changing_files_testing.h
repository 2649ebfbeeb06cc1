// Files of which one changes while it is read, for tests.
#pragma once

#include <string>
#include <utility>

#include "snug/testing/forwarding_files.h"
#include "snug/testing/memory_files.h"

namespace snug::testing {

// Puts another text in the place of a file when it is opened for the n-th time, from 1 on.
class ChangingFiles final : public ForwardingFiles {
 public:
  ChangingFiles(FileSystem& inner, Path path, int changed_open, std::string text)
      : ForwardingFiles(inner),
        path_(std::move(path)),
        left_(changed_open),
        text_(std::move(text)) {}

  std::unique_ptr<File> open(const Path& path, OpenMode mode) override {
    if (path == path_ && --left_ == 0) write_text(inner(), path, text_);
    return inner().open(path, mode);
  }

 private:
  Path path_;
  int left_;
  std::string text_;
};

}  // namespace snug::testing

// For tests: a disk with little room left, by its own account.
#pragma once

#include "snug/testing/forwarding_files.h"

namespace snug::testing {

class SmallDisk final : public ForwardingFiles {
 public:
  SmallDisk(FileSystem& inner, int64_t free_bytes)
      : ForwardingFiles(inner), free_bytes_(free_bytes) {}

  int64_t free_bytes(const Path&) override { return free_bytes_; }

 private:
  int64_t free_bytes_;
};

}  // namespace snug::testing

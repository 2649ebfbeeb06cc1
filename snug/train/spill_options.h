// Whether and where values may wait on the disk while a step needs their memory for others.
#pragma once

#include <cstdint>
#include <optional>

#include "snug/base/file.h"
#include "snug/plan/cost_model.h"

namespace snug {

// It is used where the budget binds, and then where it is faster than computing again or nothing
// else fits. The numbers that come out do not depend on it.
struct SpillOptions {
  bool allowed = true;
  Path folder;             // Empty: $TMPDIR, /var/tmp or the working directory.
  int64_t most_bytes = 0;  // Of the file; 0: what the disk has free.
  bool use_ring = true;    // false: a thread reads and writes, without io_uring.
  // What plans are weighed by; without, it is measured when a budget first binds.
  std::optional<DiskSpeed> speed;
  FileSystem* files = nullptr;  // Null: the machine's own.

  FileSystem& file_system() const { return files != nullptr ? *files : real_files(); }
};

}  // namespace snug

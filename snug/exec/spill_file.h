// The file that values wait in while a step needs their memory for others.
#pragma once

#include <memory>

#include "snug/exec/spill_queue.h"

namespace snug {

class SpillFile {
 public:
  // Takes the bytes of the disk at once. Without `use_ring`, or where the system has none, a thread
  // reads and writes. Throws FileError, which says what to do, where the folder has no room or is
  // on no disk that can be read and written past the page cache.
  SpillFile(FileSystem& files, const Path& folder, int64_t bytes, bool use_ring = true);

  SpillQueue& queue() { return *queue_; }
  bool has_ring() const { return has_ring_; }
  int64_t bytes() const { return bytes_; }
  const Path& folder() const { return folder_; }

 private:
  Path folder_;
  int64_t bytes_;
  std::unique_ptr<File> file_;
  bool has_ring_ = false;
  std::unique_ptr<SpillQueue> queue_;
};

// The first folder that can hold a spill file: `chosen`, where it is given, and nothing else; else
// $TMPDIR, /var/tmp and the working directory. Throws FileError for what is wrong with the chosen
// one, or with the last of the others.
Path spill_folder(FileSystem& files, const Path& chosen);

}  // namespace snug

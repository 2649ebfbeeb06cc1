// A file system in memory that knows what is already on its disk and what a crash would lose.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "snug/base/file.h"

namespace snug::testing {

using Bytes = std::vector<std::byte>;

// A write that no sync() has brought to the disk; `bytes` empty and `size` set: a change of the
// size.
struct PendingWrite {
  int64_t offset = 0;
  Bytes bytes;
  std::optional<int64_t> size;
};

struct MemoryInode {
  Bytes now;
  Bytes on_disk;
  std::vector<PendingWrite> pending;
};

using Names = std::map<std::string, std::shared_ptr<MemoryInode>>;

// What a crash loses: of every file, all that was written after some point since its last sync(), a
// write that is cut in two included; of the names, all that was made, renamed or removed after some
// point since the last sync_directory(). Directories themselves are never lost. All calls may come
// from several threads.
class MemoryFiles final : public FileSystem {
 public:
  MemoryFiles() = default;

  std::unique_ptr<File> open(const Path& path, OpenMode mode) override;
  std::optional<int64_t> size(const Path& path) override;
  std::vector<std::string> list(const Path& directory) override;
  void rename(const Path& from, const Path& to) override;
  bool remove(const Path& path) override;
  void create_directories(const Path& directory) override;
  void sync_directory(const Path& directory) override;
  int64_t free_bytes(const Path& path) override;

  // The disk as the machine finds it when it starts again; each seed is another choice of what was
  // lost, seed 0 loses everything that may be lost, seed 1 nothing.
  std::unique_ptr<MemoryFiles> after_crash(uint64_t seed);

 private:
  // The names of one directory: on the disk, and each state they went through since.
  struct Directory {
    std::vector<Names> states = {Names()};
    Names& now() { return states.back(); }
  };

  Directory& directory_of(const Path& path);
  Names& changed(const Path& path);
  std::shared_ptr<MemoryInode> find(const Path& path);

  std::mutex mutex_;
  std::map<std::string, Directory> directories_ = {{"", {}}};
};

// The whole of a file as text, and a file with this text, written and synced, its directory too.
std::string read_text(FileSystem& files, const Path& path);
void write_text(FileSystem& files, const Path& path, std::string_view text);

}  // namespace snug::testing

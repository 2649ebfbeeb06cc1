#include "snug/exec/spill_file.h"

#include <cstdlib>

#include "snug/base/bytes.h"

namespace snug {
namespace {

std::unique_ptr<File> allocated(FileSystem& files, const Path& folder, int64_t bytes) {
  try {
    std::unique_ptr<File> file = files.open(folder, OpenMode::scratch);
    if (files.free_bytes(folder) < bytes) throw file_error(folder, "take room in it", ENOSPC);
    file->allocate(bytes);
    return file;
  } catch (const FileError& error) {
    throw FileError(
        "spill: the step needs a file of {}: {}; or choose another folder with `spill: FOLDER`, or "
        "go without with `spill: false`, which takes more memory or time",
        bytes_text(bytes, Rounding::up), error.what());
  }
}

std::vector<Path> folders(const Path& chosen) {
  if (!chosen.empty()) return {chosen};
  std::vector<Path> all;
  const char* temporary = std::getenv("TMPDIR");
  if (temporary != nullptr && *temporary != '\0') all.emplace_back(temporary);
  all.emplace_back("/var/tmp");
  all.emplace_back(".");
  return all;
}

}  // namespace

SpillFile::SpillFile(FileSystem& files, const Path& folder, int64_t bytes, bool use_ring)
    : folder_(folder), bytes_(bytes), file_(allocated(files, folder, bytes)) {
  std::unique_ptr<Ring> ring = use_ring ? open_ring(*file_) : nullptr;
  has_ring_ = ring != nullptr;
  queue_ = has_ring_ ? make_ring_queue(std::move(ring), folder) : make_thread_queue(*file_);
}

Path spill_folder(FileSystem& files, const Path& chosen) {
  const std::vector<Path> all = folders(chosen);
  for (const Path& folder : all) {
    try {
      files.open(folder, OpenMode::scratch);
      return folder;
    } catch (const FileError&) {
      if (folder == all.back()) throw;
    }
  }
  return {};
}

}  // namespace snug

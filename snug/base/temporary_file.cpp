#include "snug/base/temporary_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <chrono>

#include "snug/base/random.h"

namespace snug {
namespace {

constexpr std::string_view kSuffix = ".tmp";
constexpr size_t kDigits = 16;

// The number of the process alone would not do: each container has a process 1.
uint64_t unique_number() {
  static std::atomic<uint64_t> count{0};
  const auto now = std::chrono::system_clock::now().time_since_epoch().count();
  const uint64_t process = mix_bits(static_cast<uint64_t>(::getpid()));
  return mix_bits(mix_bits(process ^ static_cast<uint64_t>(now)) + count++);
}

// It stays locked until its name is gone: a writer that has opened it and waits for its lock then
// finds it without one.
void remove_if_abandoned(FileSystem& files, const Path& path) {
  const std::unique_ptr<File> file = files.open(path, OpenMode::update);
  if (file->descriptor() != -1 && ::flock(file->descriptor(), LOCK_EX | LOCK_NB) == 0)
    files.remove(path);
}

// Those of one file of the folder, or of all.
void remove_abandoned(FileSystem& files, const Path& folder,
                      const std::optional<std::string>& file) {
  if (&files != &real_files()) return;
  try {
    for (const std::string& name : files.list(folder)) {
      const std::optional<std::string_view> target = target_of_temporary(name);
      if (!target || (file && *target != *file)) continue;
      remove_if_abandoned(files, folder / name);
    }
  } catch (const FileError&) {
    // It is in nobody's way.
  }
}

}  // namespace

TemporaryFile::TemporaryFile(FileSystem& files, const Path& path) {
  do {
    Path name = path;
    name += fmt::format(".{:016x}{}", unique_number(), kSuffix);
    file_ = files.open(name, OpenMode::write);
  } while (!lock());
}

TemporaryFile::~TemporaryFile() {
  if (held_ != -1) ::close(held_);
}

// False where another process has taken it for abandoned before it was locked. Where a disk knows
// no locks nothing is ever abandoned.
bool TemporaryFile::lock() {
  if (file_->descriptor() == -1 || ::flock(file_->descriptor(), LOCK_EX) != 0) return true;
  struct stat status {};
  if (::fstat(file_->descriptor(), &status) == 0 && status.st_nlink == 0) return false;
  held_ = ::fcntl(file_->descriptor(), F_DUPFD_CLOEXEC, 0);
  return true;
}

void remove_abandoned(FileSystem& files, const Path& path) {
  remove_abandoned(files, path.parent_path(), path.filename().string());
}

void remove_all_abandoned(FileSystem& files, const Path& folder) {
  remove_abandoned(files, folder, std::nullopt);
}

std::optional<std::string_view> target_of_temporary(std::string_view name) {
  const size_t added = 1 + kDigits + kSuffix.size();
  if (name.size() <= added || !name.ends_with(kSuffix)) return std::nullopt;
  const std::string_view digits = name.substr(name.size() - added + 1, kDigits);
  const bool ours = name[name.size() - added] == '.' &&
                    digits.find_first_not_of("0123456789abcdef") == std::string_view::npos;
  return ours ? std::optional(name.substr(0, name.size() - added)) : std::nullopt;
}

}  // namespace snug

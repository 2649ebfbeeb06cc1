// The folder for rows that were unpacked or parsed, and for bad rows on their way to a run.

#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <optional>

#include "snug/base/temporary_file.h"
#include "snug/cli/run_file.h"

namespace snug::cli {
namespace {

constexpr std::string_view kRejected = ".rejected.csv";

// The process that a file of bad rows belongs to; nullopt where its name is another one.
std::optional<pid_t> owner_of(std::string_view name) {
  if (!name.ends_with(kRejected)) return std::nullopt;
  name.remove_suffix(kRejected.size());
  const size_t border = name.rfind('-');
  if (border == std::string_view::npos) return std::nullopt;
  pid_t process = 0;
  const char* end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data() + border + 1, end, process);
  return error == std::errc() && stop == end && process > 0 ? std::optional(process) : std::nullopt;
}

// Processes of other containers are not seen; but bad rows wait for minutes at most.
bool is_abandoned(pid_t owner, const Path& file) {
  const bool is_gone = ::kill(owner, 0) != 0 && errno == ESRCH;
  std::error_code error;
  const auto written = std::filesystem::last_write_time(file, error);
  const auto now = std::filesystem::file_time_type::clock::now();
  return is_gone && !error && now - written > std::chrono::hours(1);
}

}  // namespace

std::string rejected_name(const std::string& run) {
  return fmt::format("{}-{}{}", run, ::getpid(), kRejected);
}

void clean_cache(const Path& cache) {
  remove_all_abandoned(real_files(), cache);
  try {
    for (const std::string& name : real_files().list(cache)) {
      const std::optional<pid_t> owner = owner_of(name);
      if (owner && is_abandoned(*owner, cache / name)) real_files().remove(cache / name);
    }
  } catch (const FileError&) {
    // It is in nobody's way, or there is no such folder.
  }
}

}  // namespace snug::cli

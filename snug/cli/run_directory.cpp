#include "snug/cli/run_directory.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <span>

namespace snug::cli {
namespace {

int64_t largest_number(const Path& directory) {
  int64_t largest = 0;
  for (const std::string& name : real_files().list(directory)) {
    int64_t number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (error == std::errc() && end == name.data() + name.size()) {
      largest = std::max(largest, number);
    }
  }
  return largest;
}

}  // namespace

RunDirectory::RunDirectory(const Path& runs, const std::string& name) {
  const Path directory = runs / name;
  real_files().create_directories(directory);
  for (int64_t number = largest_number(directory) + 1;; ++number) {
    path_ = directory / std::to_string(number);
    if (::mkdir(path_.c_str(), 0777) == 0) return;
    if (errno != EEXIST) throw file_error(path_, "create the directory", errno);
  }
}

RunDirectory RunDirectory::newest(const Path& runs, const std::string& name) {
  const Path directory = runs / name;
  std::error_code ignored;
  const int64_t number =
      std::filesystem::is_directory(directory, ignored) ? largest_number(directory) : 0;
  if (number == 0) {
    throw Error("{}: there is no run to go on with; leave --resume out to start one",
                directory.string());
  }
  return RunDirectory(directory / std::to_string(number));
}

void RunDirectory::write(std::string_view file, std::string_view text) const {
  write_atomically(real_files(), path_ / file,
                   [&](File& out) { out.append(std::as_bytes(std::span(text))); });
}

}  // namespace snug::cli

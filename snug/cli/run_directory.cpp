#include "snug/cli/run_directory.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <span>

namespace snug::cli {
namespace {

// 0 where it is none.
int64_t number_in(const std::string& name) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  return error == std::errc() && end == name.data() + name.size() ? number : 0;
}

int64_t largest_number(const Path& directory) {
  int64_t largest = 0;
  for (const std::string& name : real_files().list(directory))
    largest = std::max(largest, number_in(name));
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

int64_t RunDirectory::number_of(const Path& runs, const std::string& name, const Path& file) {
  const Path folder = std::filesystem::absolute(file).lexically_normal().parent_path();
  const Path all = std::filesystem::absolute(runs / name).lexically_normal();
  return folder.parent_path() == all ? number_in(folder.filename().string()) : 0;
}

RunDirectory RunDirectory::of(const Path& runs, const std::string& name, int64_t number) {
  const RunDirectory last = newest(runs, name);
  if (number == 0) return last;
  const Path path = runs / name / std::to_string(number);
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) return RunDirectory(path);
  throw Error(
      "{}: there is no such run to go on with; the newest of the name is {}: see which "
      "numbers there are, or leave --run out",
      path.string(), last.path().string());
}

int64_t RunDirectory::number() const { return number_in(path_.filename().string()); }

void RunDirectory::write(std::string_view file, std::string_view text) const {
  write_atomically(real_files(), path_ / file,
                   [&](File& out) { out.append(std::as_bytes(std::span(text))); });
}

}  // namespace snug::cli

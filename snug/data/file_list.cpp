#include "snug/data/file_list.h"

#include <fnmatch.h>

#include "snug/base/error.h"

namespace snug {
namespace {

bool is_pattern(const Path& part) { return part.string().find_first_of("*?") != std::string::npos; }

// What a pattern names, part by part; folders of which one cannot be read name nothing.
void add_matches(FileSystem& files, const Path& folder, Path::const_iterator part,
                 Path::const_iterator end, std::vector<Path>& paths) {
  const bool last = std::next(part) == end;
  if (!is_pattern(*part)) {
    if (!last) return add_matches(files, folder / *part, std::next(part), end, paths);
    if (files.size(folder / *part)) paths.push_back(folder / *part);
    return;
  }
  std::vector<std::string> names;
  try {
    names = files.list(folder);
  } catch (const FileError&) {
    return;
  }
  for (const std::string& name : names) {
    if (::fnmatch(part->c_str(), name.c_str(), FNM_PERIOD) != 0) continue;
    if (last) {
      paths.push_back(folder / name);
    } else {
      add_matches(files, folder / name, std::next(part), end, paths);
    }
  }
}

}  // namespace

std::vector<Path> list_files(FileSystem& files, std::span<const Path> patterns) {
  std::vector<Path> paths;
  for (const Path& pattern : patterns) {
    if (!is_pattern(pattern) || files.size(pattern)) {
      paths.push_back(pattern);
      continue;
    }
    const size_t before = paths.size();
    add_matches(files, {}, pattern.begin(), pattern.end(), paths);
    if (paths.size() == before) {
      throw FileError("{}: no file matches; check the path", pattern.string());
    }
  }
  return paths;
}

}  // namespace snug

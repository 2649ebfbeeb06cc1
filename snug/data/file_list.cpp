#include "snug/data/file_list.h"

#include <fnmatch.h>

#include "snug/base/error.h"

namespace snug {

std::vector<Path> list_files(FileSystem& files, std::span<const Path> patterns) {
  std::vector<Path> paths;
  for (const Path& pattern : patterns) {
    const std::string name = pattern.filename().string();
    if (name.find_first_of("*?") == std::string::npos || files.size(pattern)) {
      paths.push_back(pattern);
      continue;
    }
    const size_t before = paths.size();
    for (const std::string& entry : files.list(pattern.parent_path())) {
      if (::fnmatch(name.c_str(), entry.c_str(), FNM_PERIOD) == 0) {
        paths.push_back(pattern.parent_path() / entry);
      }
    }
    if (paths.size() == before) {
      throw FileError("{}: no file matches; check the path", pattern.string());
    }
  }
  return paths;
}

}  // namespace snug

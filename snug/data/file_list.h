// Files by pattern.
#pragma once

#include <span>
#include <vector>

#include "snug/base/file.h"

namespace snug {

// The files that the paths name, in this order. A path whose last part has * or ? stands for all
// files of its folder that match, sorted by name. Throws FileError where none does.
std::vector<Path> list_files(FileSystem& files, std::span<const Path> patterns);

}  // namespace snug

// Files without a name, past the page cache.
#pragma once

#include "snug/base/file.h"

namespace snug {

// The descriptor of a new file that OpenMode::scratch describes. Throws FileError.
int open_scratch(const Path& directory);

}  // namespace snug

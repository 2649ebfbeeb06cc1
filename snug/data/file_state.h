// Whether a file that is read during a run is still what it was when it was opened.
#pragma once

#include "snug/base/file.h"

namespace snug {

struct FileState {
  int64_t bytes = 0;
  int64_t changed = 0;  // When it was written to last, in nanoseconds; 0 where that is not known.
  friend bool operator==(const FileState&, const FileState&) = default;
};
FileState state_of(File& file);

// Throws FileError, which says what has changed, when the file is not in this state any more.
void check_unchanged(File& file, const FileState& before);

}  // namespace snug

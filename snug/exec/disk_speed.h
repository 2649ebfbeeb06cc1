// How fast the disk is that holds the spill file: measured once, kept in the user's cache folder.
#pragma once

#include <optional>
#include <string>

#include "snug/base/file.h"
#include "snug/plan/cost_model.h"

namespace snug {

// Writes and reads 4 MiB a few times, past the page cache: in less than a second on a disk of 20
// MB/s or more.
DiskSpeed measure_disk(FileSystem& files, const Path& folder);

// What was stored for the disk that holds `folder`, if anything.
std::optional<DiskSpeed> stored_disk(FileSystem& files, const Path& cache, const Path& folder);
// The same; where nothing is stored it is measured and stored.
DiskSpeed calibrated_disk(FileSystem& files, const Path& cache, const Path& folder);

// As text, one "name: value" a line, and back.
std::string text_of(const DiskSpeed& speed);
std::optional<DiskSpeed> disk_in(const std::string& text);

}  // namespace snug

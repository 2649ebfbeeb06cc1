// How fast the disk is that holds the spill file: measured once, kept in the user's cache folder.
#pragma once

#include <optional>
#include <string>

#include "snug/base/file.h"
#include "snug/plan/cost_model.h"

namespace snug {

// Writes and reads 64 MiB a few times, past the page cache and beside a computation on so many
// threads, and says what the two take from each other: in less than a second on a disk of 1 GB/s.
DiskSpeed measure_disk(FileSystem& files, const Path& folder, int threads);

// What was stored for the disk that holds `folder` beside so many threads, if anything.
std::optional<DiskSpeed> stored_disk(FileSystem& files, const Path& cache, const Path& folder,
                                     int threads);
// The same; where nothing is stored it is measured and stored.
DiskSpeed calibrated_disk(FileSystem& files, const Path& cache, const Path& folder, int threads);

// As text, one "name: value" a line, and back.
std::string text_of(const DiskSpeed& speed);
std::optional<DiskSpeed> disk_in(const std::string& text);

}  // namespace snug

// Several files as one source.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "snug/base/file.h"
#include "snug/data/source.h"

namespace snug::data {

// Sources with random access, whose rows follow one another. Throws Error, which names two of them,
// when their fields differ in number, role or shape.
SourcePtr concatenated(std::span<const SourcePtr> sources);

// A file that is compressed with gzip, told by its content, as a plain one: inflated once into the
// folder `cache`, and found there again as long as the file does not change. A plain file as it is.
// Throws DataError for one that is damaged, or compressed where there is no cache; FileError.
Path plain_file(FileSystem& files, const Path& path, const Path& cache);

}  // namespace snug::data

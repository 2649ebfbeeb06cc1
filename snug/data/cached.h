// Rows that are kept once they have been read.
#pragma once

#include "snug/base/file.h"
#include "snug/data/source.h"

namespace snug::data {

// Keeps rows of a source with random access in at most so many bytes, the first ones of it, as the
// step wants them (bytes of images stay bytes); the others are read each time. They are kept when
// they are first read, so nothing is read twice; as in tf.data, an order that would change from
// pass to pass stays that of the first. One thread; a twin shares what is kept.
SourcePtr cached(SourcePtr source, int64_t most_bytes);

// All rows of any source in one binary file of ours, written now if it is not there: what makes
// them (parsing, decoding, a map) is done once, also for later runs. `key` says what the rows
// depend on: a file that was written under another one is written again. Throws FileError when the
// disk has no room, CorruptFile never: a damaged file is written again. The rows have random
// access.
SourcePtr cached_in_file(SourcePtr source, const Path& path, std::string_view key,
                         FileSystem* files = nullptr);

}  // namespace snug::data

// How long the records of a TFRecord file are, kept for later runs, which then need not read all of
// the file to find them.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "snug/base/file.h"

namespace snug {

// What a record takes beside its data: its length and two checksums.
inline constexpr int64_t kRecordFrameBytes = 16;

// Where those of `file` stand in the folder `cache`: under another name once the file has changed
// (path, size, time, hash of its ends).
Path record_lengths_path(FileSystem& files, const Path& file, const Path& cache);

// Gives each length in order to `visit`. False, and then nothing was visited, where there is no
// such file, where it is damaged, and where its records are not those of a file of `file_bytes` or
// one of them is longer than `most`. Throws FileError where it cannot be read any more after that.
bool read_record_lengths(FileSystem& files, const Path& kept, int64_t file_bytes, int64_t most,
                         const std::function<void(int64_t)>& visit);

// Writes them as they are found. Where that fails nothing is kept, and nobody is told: the next run
// finds them again.
class RecordLengthsWriter {
 public:
  RecordLengthsWriter(FileSystem& files, const Path& kept);
  ~RecordLengthsWriter();
  RecordLengthsWriter(const RecordLengthsWriter&) = delete;
  RecordLengthsWriter& operator=(const RecordLengthsWriter&) = delete;

  void add(int64_t length);
  // All were found: puts the file in its place.
  void finish();

 private:
  class Writing;
  std::unique_ptr<Writing> writing_;  // Null once it has failed, or is done.
};

}  // namespace snug

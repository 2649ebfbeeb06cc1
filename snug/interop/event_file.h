// TensorBoard's event files (keras.md 3.8): TFRecords of a few protobuf messages.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "snug/base/file.h"

namespace snug {

// One record: length, its checksum, data, its checksum.
std::string tf_record(std::string_view data);
// CRC-32C, masked as TensorFlow does.
uint32_t masked_checksum(std::string_view data);

// Serialized tensorflow.Event messages; `wall_time` in seconds since 1970.
std::string version_event(double wall_time);
std::string scalar_event(double wall_time, int64_t step, std::string_view tag, float value);
// 30 even buckets between the least and the largest finite value.
std::string histogram_event(double wall_time, int64_t step, std::string_view tag,
                            std::span<const float> values);
// What was written from this step on, by a run that was ended, does not count any more.
std::string restart_event(double wall_time, int64_t step);
// The model for TensorBoard's graph page, as Keras's to_json() gives it.
std::string model_event(double wall_time, std::string_view json);

// A file of events that grows. What was added is in the file after flush().
class EventFile {
 public:
  // Makes a new file in `folder`, and the folder where it is not there.
  explicit EventFile(const Path& folder, FileSystem& files = real_files());

  void add(std::string_view event) { pending_ += tf_record(event); }
  void flush();
  const Path& path() const { return file_->path(); }

 private:
  std::unique_ptr<File> file_;
  std::string pending_;
};

// Now, in seconds since 1970.
double wall_time();

}  // namespace snug

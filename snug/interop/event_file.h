// TensorBoard's event files (keras.md 3.8): TFRecords of a few protobuf messages.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "snug/base/growing_file.h"

namespace snug {

// One record: length, its checksum, data, its checksum. Made of the data that is given: what is
// large and moved here is not copied where it has room to grow.
std::string tf_record(std::string data);

// Serialized tensorflow.Event messages; `wall_time` in seconds since 1970.
std::string version_event(double wall_time);
std::string scalar_event(double wall_time, int64_t step, std::string_view tag, float value);
// 30 even buckets between the least and the largest finite value.
std::string histogram_event(double wall_time, int64_t step, std::string_view tag,
                            std::span<const float> values);
// The model for TensorBoard's graph page, as Keras's to_json() gives it. As tf_record() does, it
// makes the event of the text itself.
std::string model_event(double wall_time, std::string json);

// A new file of events in `folder`, which is made where it is not there; its first event waits in
// it. Events are added as tf_record(event).
GrowingFile new_event_file(const Path& folder, FileSystem& files = real_files());

// Now, in seconds since 1970.
double wall_time();

}  // namespace snug

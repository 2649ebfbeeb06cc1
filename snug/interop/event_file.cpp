#include "snug/interop/event_file.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <vector>

#include "snug/base/error.h"
#include "snug/data/tfrecord.h"

namespace snug {
namespace {

template <typename T>
std::string bytes_of(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof(T)};
}

// A protobuf message: fields in the order in which they are put.
class Message {
 public:
  Message& number(int field, uint64_t value) {
    varint(static_cast<uint64_t>(field) << 3);
    varint(value);
    return *this;
  }
  Message& real(int field, double value) {
    varint(static_cast<uint64_t>(field) << 3 | 1);
    text_ += bytes_of(value);
    return *this;
  }
  Message& bytes(int field, std::string_view value) {
    start(field, value.size());
    text_ += value;
    return *this;
  }
  Message& message(int field, const Message& value) { return bytes(field, value.text_); }
  // The same for a large value, which is not copied: what stands before it is put there.
  Message& last_bytes(int field, std::string value) {
    start(field, value.size());
    text_ = std::move(value.insert(0, text_));
    return *this;
  }
  Message& last_message(int field, Message value) {
    return last_bytes(field, std::move(value.text_));
  }
  std::string take() { return std::move(text_); }

 private:
  void start(int field, size_t bytes) {
    varint(static_cast<uint64_t>(field) << 3 | 2);
    varint(bytes);
  }
  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) text_ += static_cast<char>(value | 0x80);
    text_ += static_cast<char>(value);
  }
  std::string text_;
};

constexpr int kFloat = 1, kDouble = 2, kString = 7;  // Of TensorProto.

Message metadata(std::string_view plugin, int data_class, std::string_view content = {}) {
  Message data;
  data.bytes(1, plugin);
  if (!content.empty()) data.bytes(2, content);
  Message metadata;
  metadata.message(1, data);
  if (data_class != 0) metadata.number(4, static_cast<uint64_t>(data_class));
  return metadata;
}

std::string summary_event(double wall_time, int64_t step, std::string_view tag,
                          const Message& metadata, Message tensor) {
  Message value, summary, event;
  value.bytes(1, tag).message(9, metadata).last_message(8, std::move(tensor));
  summary.last_message(1, std::move(value));
  event.real(1, wall_time);
  if (step != 0) event.number(2, static_cast<uint64_t>(step));
  return event.last_message(5, std::move(summary)).take();
}

// Rows of (left, right, count).
std::vector<double> buckets(std::span<const float> values) {
  constexpr int kBuckets = 30;
  double least = INFINITY, largest = -INFINITY, count = 0;
  for (const float value : values) {
    if (!std::isfinite(value)) continue;
    least = std::min<double>(least, value);
    largest = std::max<double>(largest, value);
    count += 1;
  }
  if (count == 0) return {};
  if (least == largest) return {least - 0.5, least + 0.5, count};
  std::vector<double> rows;
  const double width = (largest - least) / kBuckets;
  for (int i = 0; i < kBuckets; ++i) {
    const double right = i + 1 == kBuckets ? largest : least + (i + 1) * width;
    rows.insert(rows.end(), {least + i * width, right, 0});
  }
  for (const float value : values) {
    if (!std::isfinite(value)) continue;
    const auto bucket = static_cast<size_t>((value - least) / width);
    rows[3 * std::min<size_t>(bucket, kBuckets - 1) + 2] += 1;
  }
  return rows;
}

std::string host_name() {
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  std::string text = name.data();
  std::ranges::replace(text, '/', '_');
  return text.empty() ? "host" : text;
}

std::string checksum(std::string_view data) {
  return bytes_of(masked_crc32c(std::as_bytes(std::span(data))));
}

}  // namespace

std::string tf_record(std::string data) {
  const std::string length = bytes_of<uint64_t>(data.size()), sum = checksum(data);
  data.insert(0, length + checksum(length));
  return std::move(data += sum);
}

std::string version_event(double wall_time) {
  return Message().real(1, wall_time).bytes(3, "brain.Event:2").take();
}

std::string scalar_event(double wall_time, int64_t step, std::string_view tag, float value) {
  Message tensor;
  tensor.number(1, kFloat).message(2, Message()).bytes(5, bytes_of(value));
  return summary_event(wall_time, step, tag, metadata("scalars", 1), std::move(tensor));
}

std::string histogram_event(double wall_time, int64_t step, std::string_view tag,
                            std::span<const float> values) {
  const std::vector<double> rows = buckets(values);
  Message shape, tensor;
  shape.message(2, Message().number(1, rows.size() / 3)).message(2, Message().number(1, 3));
  tensor.number(1, kDouble)
      .message(2, shape)
      .bytes(4, {reinterpret_cast<const char*>(rows.data()), rows.size() * sizeof(double)});
  return summary_event(wall_time, step, tag, metadata("histograms", 2), std::move(tensor));
}

std::string model_event(double wall_time, std::string json) {
  Message tensor;
  tensor.number(1, kString).message(2, Message()).last_bytes(8, std::move(json));
  return summary_event(wall_time, 0, "keras", metadata("graph_keras_model", 0, "1"),
                       std::move(tensor));
}

GrowingFile new_event_file(const Path& folder, FileSystem& files) {
  static std::atomic<int> count = 0;  // Two files of one process and second differ in this.
  files.create_directories(folder);
  const double now = wall_time();
  GrowingFile file(
      files,
      folder / fmt::format("events.out.tfevents.{}.{}.{}.{}.v2", static_cast<int64_t>(now),
                           host_name(), ::getpid(), count++),
      OpenMode::append);
  file.add(tf_record(version_event(now)));
  return file;
}

double wall_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace snug

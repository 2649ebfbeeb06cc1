// Stretches of a sequence of rows, each as one row.
#pragma once

#include <optional>

#include "snug/data/source.h"

namespace snug {

// tf.data's window(), each window as one row: `size` rows, `stride` apart; the next one begins
// `shift` rows later. What does not fill a window at the end is left out.
struct WindowOptions {
  int64_t size = 1;
  std::optional<int64_t> shift;  // Nullopt: size.
  int64_t stride = 1;
};

// Keras's timeseries_dataset_from_array: an input is `sequence_length` rows, `sampling_rate` apart;
// the next one begins `sequence_stride` rows later. Only rows [start_index, end_index) count.
struct TimeseriesOptions {
  int64_t sequence_length = 1;
  int64_t sequence_stride = 1;
  int64_t sampling_rate = 1;
  int64_t start_index = 0;
  std::optional<int64_t> end_index;
  // The target of a sequence is that of its first row, or of one so many rows later, in place of
  // the targets that Keras wants to be shifted by the caller.
  int64_t target_delay = 0;
};

namespace data {

// Of a source with random access; rows are read again for each window that they stand in, and none
// are held. All fields, weights apart, get an axis of `size` more. Throws Error for a number below
// 1, for a source with weights, and when no window is filled.
SourcePtr windows(SourcePtr source, const WindowOptions& options);

// Inputs get an axis of `sequence_length` more; targets and weights stay as they are. Throws Error
// for numbers that cannot be, and when no sequence is filled.
SourcePtr timeseries(SourcePtr source, const TimeseriesOptions& options);

}  // namespace data
}  // namespace snug

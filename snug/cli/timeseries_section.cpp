// Sequences of rows in a run file: data: {train: ..., timeseries: {sequence_length: 24}}.

#include <array>

#include "snug/cli/run_file.h"
#include "snug/data/windows.h"

namespace snug::cli {

SourcePtr as_timeseries(const YamlValue& data, SourcePtr source) {
  static constexpr std::array<std::string_view, 6> kKeys = {"sequence_length", "sequence_stride",
                                                            "sampling_rate",   "start_index",
                                                            "end_index",       "target_delay"};
  const YamlValue* series = data.find("timeseries");
  if (series == nullptr || !source) return source;
  series->expect_map("a map, such as {sequence_length: 24, target_delay: 24}");
  expect_keys(*series, kKeys, "setting of timeseries");
  TimeseriesOptions options;
  const auto read = [&](std::string_view key, int64_t& number) {
    if (const YamlValue* value = series->find(key)) number = value->as_int();
  };
  if (series->find("sequence_length") == nullptr) {
    series->fail("timeseries has no sequence_length; say how many rows a sequence has");
  }
  read("sequence_length", options.sequence_length);
  read("sequence_stride", options.sequence_stride);
  read("sampling_rate", options.sampling_rate);
  read("start_index", options.start_index);
  read("target_delay", options.target_delay);
  if (const YamlValue* end = series->find("end_index")) options.end_index = end->as_int();
  return placed(series->where, [&] { return data::timeseries(std::move(source), options); });
}

}  // namespace snug::cli

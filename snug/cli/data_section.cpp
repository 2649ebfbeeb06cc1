// The files of a run file: .npy as {x: ..., y: ...}, IDX as {images: ..., labels: ...}, CSV by
// their names (see csv_section.cpp).

#include <algorithm>
#include <array>

#include "snug/cli/run_file.h"
#include "snug/data/idx.h"
#include "snug/data/npy.h"

namespace snug::cli {
namespace {

constexpr std::array<std::string_view, 5> kFiles = {"x", "y", "sample_weight", "images", "labels"};
constexpr std::array<std::string_view, 11> kKeys = {
    "train",      "validation",       "x",     "y",         "sample_weight", "images", "labels",
    "on_bad_row", "bad_rows_at_most", "split", "timeseries"};
constexpr std::string_view kForms =
    "{x: x.npy, y: y.npy} for NumPy files, {images: ..., labels: ...} for IDX files, "
    "{image_folder: ...} for pictures, or the name of a CSV or .npz file";

const YamlValue& file_of(const YamlValue& files, std::string_view key) {
  if (const YamlValue* file = files.find(key)) return *file;
  files.fail("{} has no {}; give {}", files.path, key, kForms);
}

SourcePtr open_npy(const RunFile& run, const YamlValue& files, bool inputs_only) {
  data::NpyOptions options{.x = {run.path(file_of(files, "x"))}, .y = {}};
  if (!inputs_only) options.y = {run.path(file_of(files, "y"))};
  if (const YamlValue* weight = files.find("sample_weight")) {
    options.sample_weight = run.path(*weight);
  }
  return data::npy(options);
}

SourcePtr open_idx(const RunFile& run, const YamlValue& files, const Path& cache) {
  return data::idx({.x = {run.path(file_of(files, "images"))},
                    .y = {run.path(file_of(files, "labels"))},
                    .cache = cache});
}

SourcePtr open_arrays(const RunFile& run, const YamlValue& files, const Path& cache,
                      bool inputs_only) {
  files.expect_map(kForms);
  expect_keys(files, files.path == "data" ? std::span<const std::string_view>(kKeys) : kFiles,
              "setting of " + files.path);
  const bool idx = files.find("images") != nullptr || files.find("labels") != nullptr;
  const bool npy = files.find("x") != nullptr || files.find("y") != nullptr;
  if (idx == npy) files.refuse(kForms);
  if (idx && files.find("sample_weight") != nullptr) {
    files.find("sample_weight")->fail("IDX files have no sample_weight; give class_weight in fit");
  }
  return idx ? open_idx(run, files, cache) : open_npy(run, files, inputs_only);
}

SourcePtr open_files(const RunFile& run, const YamlValue& files, const Path& cache,
                     bool inputs_only) {
  try {
    return placed(files.where, [&] {
      if (is_folder(files)) return open_folder(run, files, inputs_only);
      return is_record_file(files) ? open_record_file(run, files, cache)
                                   : open_arrays(run, files, cache, inputs_only);
    });
  } catch (const FileError& error) {
    throw FileError("{}: {}", files.where, error.what());
  }
}

// A person who gives these has another kind of file in mind.
void refuse_csv_settings(const YamlValue& data) {
  for (const YamlItem& item : data.items) {
    if (item.key != "label" && item.key != "columns") continue;
    throw PlacedError(item.where, fmt::format("{} is for CSV files, such as train: rows.csv; the "
                                              "files here need none",
                                              item.key));
  }
}

}  // namespace

RunData open_data(const RunFile& run, const Path& cache, bool inputs_only) {
  const YamlValue* data = run.section("data");
  if (data == nullptr) {
    throw PlacedError(run.file, fmt::format("there is no data; give data: {{train: {}}}", kForms));
  }
  data->expect_map(fmt::format("a map: train and validation, each {}", kForms));
  const YamlValue* first = data->find("train");
  if (first != nullptr && is_csv(*first)) return open_csv(run, *data, cache);
  refuse_csv_settings(*data);
  expect_keys(*data, kKeys, "setting of data");
  const YamlValue *train = data->find("train"), *validation = data->find("validation");
  const bool is_plain = std::ranges::any_of(kFiles, [&](auto key) { return data->find(key); });
  if (is_plain && train != nullptr) {
    train->fail("the training files are given twice: under train and beside it; keep one");
  }
  if (!is_plain && train == nullptr) data->fail("data has no train; give train: {}", kForms);
  RunData opened{.train = open_files(run, is_plain ? *data : *train, cache, inputs_only)};
  opened.train = as_timeseries(*data, std::move(opened.train));
  opened.bad_rows = read_bad_rows(run, *data, cache);
  if (validation != nullptr) opened.validation = open_files(run, *validation, cache, inputs_only);
  opened.validation = as_timeseries(*data, std::move(opened.validation));
  return opened;
}

}  // namespace snug::cli

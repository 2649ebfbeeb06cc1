// The files of a run file: .npy as {x: ..., y: ...}, IDX as {images: ..., labels: ...}, CSV by
// their names (see csv_section.cpp).

#include <algorithm>
#include <array>

#include "snug/cli/class_names.h"
#include "snug/cli/run_file.h"
#include "snug/data/file_chain.h"
#include "snug/data/idx.h"
#include "snug/data/npy.h"

namespace snug::cli {
namespace {

constexpr std::array<std::string_view, 5> kFiles = {"x", "y", "sample_weight", "images", "labels"};
constexpr std::array<std::string_view, 12> kKeys = {
    "train",      "validation",       "x",     "y",       "sample_weight", "images", "labels",
    "on_bad_row", "bad_rows_at_most", "split", "augment", "timeseries"};
constexpr std::string_view kForms =
    "{x: x.npy, y: y.npy} for NumPy files, {images: ..., labels: ...} for IDX files, "
    "{image_folder: ...} for pictures, {text_folder: ...} for texts, or the name of a CSV, .npz or "
    ".h5 file";

const YamlValue& file_of(const YamlValue& files, std::string_view key) {
  if (const YamlValue* file = files.find(key)) return *file;
  files.fail("{} has no {}; give {}", files.path, key, kForms);
}

// The files of a setting: a name, a pattern or a list of them; compressed ones inflated.
std::vector<Path> paths_of(const RunFile& run, const YamlValue& value, const Path& cache) {
  std::vector<Path> paths = files_of(run, value);
  for (Path& path : paths) path = data::plain_file(real_files(), path, cache);
  return paths;
}

// Each setting has as many files: they belong together by their order.
void expect_as_many(const YamlValue& value, size_t count, size_t wanted, std::string_view beside) {
  if (count == wanted) return;
  value.fail("{} has {} files where {} has {}; they belong together one by one", value.path, count,
             beside, wanted);
}

SourcePtr open_npy(const RunFile& run, const YamlValue& files, const Path& cache,
                   bool inputs_only) {
  const std::vector<Path> x = paths_of(run, file_of(files, "x"), cache);
  std::vector<data::NpyOptions> parts;
  for (const Path& path : x) parts.push_back({.x = {path}, .y = {}, .cache = cache});
  const auto add = [&](const YamlValue& value, const auto& put) {
    const std::vector<Path> paths = paths_of(run, value, cache);
    expect_as_many(value, paths.size(), x.size(), "x");
    for (size_t i = 0; i < paths.size(); ++i) put(parts[i], paths[i]);
  };
  if (!inputs_only) {
    add(file_of(files, "y"), [](data::NpyOptions& part, const Path& path) { part.y = {path}; });
    if (const YamlValue* weight = files.find("sample_weight")) {
      add(*weight, [](data::NpyOptions& part, const Path& path) { part.sample_weight = path; });
    }
  }
  std::vector<SourcePtr> sources;
  for (const data::NpyOptions& part : parts) sources.push_back(data::npy(part));
  return data::concatenated(sources);
}

SourcePtr open_idx(const RunFile& run, const YamlValue& files, const Path& cache,
                   bool inputs_only) {
  std::vector<data::IdxOptions> parts;
  for (const Path& path : files_of(run, file_of(files, "images")))
    parts.push_back({.x = {path}, .y = {}, .cache = cache});
  if (!inputs_only) {
    const YamlValue& value = file_of(files, "labels");
    const std::vector<Path> labels = files_of(run, value);
    expect_as_many(value, labels.size(), parts.size(), "images");
    for (size_t i = 0; i < labels.size(); ++i) parts[i].y = {labels[i]};
  }
  std::vector<SourcePtr> sources;
  for (const data::IdxOptions& part : parts) sources.push_back(data::idx(part));
  return data::concatenated(sources);
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
  return idx ? open_idx(run, files, cache, inputs_only) : open_npy(run, files, cache, inputs_only);
}

SourcePtr open_files(const RunFile& run, const YamlValue& files, const Path& cache,
                     bool inputs_only, std::string& fitted) {
  try {
    return placed(files.where, [&] {
      if (is_folder(files)) return open_folder(run, files, inputs_only, fitted);
      return is_record_file(files) ? open_record_file(run, files, cache, inputs_only)
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

RunData open_data(const RunFile& run, const DataRequest& request) {
  const Path& cache = request.cache;
  const bool inputs_only = request.inputs_only;
  clean_cache(cache);
  const YamlValue* data = run.section("data");
  if (data == nullptr && is_model_file(run.file)) {
    throw PlacedError(
        run.file,
        "there is no data for the model; name it behind: data.x=x.npy data.y=y.npy, or "
        "data=rows.csv label=COLUMN (predict needs no labels)");
  }
  if (data == nullptr) {
    throw PlacedError(run.file, fmt::format("there is no data; give data: {{train: {}}}", kForms));
  }
  data->expect_map(fmt::format(
      "a map, such as {{train: rows.csv, label: COLUMN}}: train and validation, each {}", kForms));
  const YamlValue* first = data->find("train");
  const bool texts = has_learned_words(request.fitted);
  if (first != nullptr && (is_text(*first) || (texts && is_csv(*first))))
    return open_text(run, *data, request);
  if (first != nullptr && is_csv(*first)) return open_csv(run, *data, request);
  // A table of another kind, most often.
  if (first != nullptr && first->is_scalar() && !is_record_file(*first))
    first->refuse(fmt::format("{}; save other tables as CSV", kForms));
  refuse_csv_settings(*data);
  expect_keys(*data, kKeys, "setting of data");
  const YamlValue *train = data->find("train"), *validation = data->find("validation");
  const auto plain = std::ranges::find_if(kFiles, [&](auto key) { return data->find(key); });
  const bool is_plain = plain != kFiles.end();
  if (is_plain && train != nullptr) {
    train->fail("data.train names the training files, and so does data.{} ({}); keep one of them",
                *plain, data->find(*plain)->where);
  }
  if (!is_plain && train == nullptr) data->fail("data has no train; give train: {}", kForms);
  const YamlValue& files = is_plain ? *data : *train;
  std::string fitted =
      is_folder(files) ? request.fitted : fitted_to_classes(class_names_of(request.fitted));
  RunData opened{.train = open_files(run, files, cache, inputs_only, fitted)};
  opened.train = as_timeseries(*data, std::move(opened.train));
  opened.bad_rows = read_bad_rows(run, *data, cache);
  opened.fitted = fitted;
  if (validation != nullptr)
    opened.validation = open_files(run, *validation, cache, inputs_only, fitted);
  opened.validation = as_timeseries(*data, std::move(opened.validation));
  return opened;
}

}  // namespace snug::cli

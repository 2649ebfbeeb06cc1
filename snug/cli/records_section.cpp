// Files that hold several arrays or records: {npz: data.npz, x: images, y: labels}, {hdf5:
// "part-*.h5", x: group/features, y: labels} and {tfrecord: "train-*.tfrecord", x: {key: pixels,
// shape: [28, 28], type: uint8}, y: {key: label, type: int64}}.

#include <algorithm>
#include <array>

#include "snug/cli/run_file.h"
#include "snug/data/file_chain.h"
#include "snug/data/hdf5.h"
#include "snug/data/npz.h"
#include "snug/data/tfrecord.h"

namespace snug::cli {
namespace {

constexpr std::array<std::string_view, 4> kNpzKeys = {"npz", "x", "y", "sample_weight"};
constexpr std::array<std::string_view, 5> kHdf5Keys = {"hdf5", "file", "x", "y", "sample_weight"};
constexpr std::array<std::string_view, 4> kRecordKeys = {"tfrecord", "x", "y", "sample_weight"};
constexpr std::array<std::string_view, 4> kFeatureKeys = {"key", "shape", "type", "longest"};
constexpr std::string_view kFeatureForms = "a feature: {key: pixels, shape: [28, 28], type: uint8}";

SourcePtr open_npz(const RunFile& run, const YamlValue& files, const Path& cache,
                   bool inputs_only) {
  data::NpzOptions options{.file = {}, .inputs_only = inputs_only, .cache = cache};
  if (files.is_scalar()) {
    options.file = run.path(files);
    return data::npz(options);
  }
  expect_keys(files, kNpzKeys, "setting of an .npz file");
  options.file = run.path(*files.find("npz"));
  if (const YamlValue* x = files.find("x")) options.x = {x->as_text()};
  if (const YamlValue* y = files.find("y")) options.y = {y->as_text()};
  const bool is_half_named = options.x.empty() != options.y.empty();
  if (is_half_named && (options.x.empty() || !inputs_only))
    files.fail("give both x and y, or neither");
  if (const YamlValue* weight = files.find("sample_weight"))
    options.sample_weight = weight->as_text();
  return data::npz(options);
}

bool is_hdf5_name(const YamlValue& value) {
  if (value.is_list()) return !value.list.empty() && is_hdf5_name(value.list[0]);
  if (!value.is_scalar()) return false;
  constexpr std::array<std::string_view, 4> kEnds = {".h5", ".hdf5", ".mat", ".h5.gz"};
  return std::ranges::any_of(kEnds, [&](auto end) { return value.text.ends_with(end); });
}

// {hdf5: ...}, {file: d.h5, ...}, or the name alone.
const YamlValue* hdf5_file(const YamlValue& files) {
  if (is_hdf5_name(files)) return &files;
  if (!files.is_map()) return nullptr;
  if (const YamlValue* file = files.find("hdf5")) return file;
  const YamlValue* file = files.find("file");
  return file != nullptr && is_hdf5_name(*file) ? file : nullptr;
}

SourcePtr open_hdf5(const RunFile& run, const YamlValue& files, const Path& cache,
                    bool inputs_only) {
  data::Hdf5Options options{.file = {}, .inputs_only = inputs_only, .cache = cache};
  if (files.is_map()) {
    expect_keys(files, kHdf5Keys, "setting of an HDF5 file");
    if (const YamlValue* x = files.find("x")) options.x = {x->as_text()};
    if (const YamlValue* y = files.find("y")) options.y = {y->as_text()};
    if (options.x.empty() && !options.y.empty()) files.fail("which array is x? Give x: NAME");
    if (const YamlValue* weight = files.find("sample_weight"))
      options.sample_weight = weight->as_text();
  }
  std::vector<SourcePtr> sources;
  for (const Path& path : files_of(run, *hdf5_file(files))) {
    options.file = data::plain_file(real_files(), path, cache);
    sources.push_back(data::hdf5(options));
  }
  return data::concatenated(sources);
}

StoredType read_type(const YamlValue& value) {
  for (const StoredType type : {StoredType::float32, StoredType::int64, StoredType::uint8}) {
    if (value.as_text() == name_of(type)) return type;
  }
  value.refuse("float32, int64 or uint8 (the bytes of a string)");
}

FeatureSpec read_feature_spec(const YamlValue& value) {
  value.expect_map(kFeatureForms);
  expect_keys(value, kFeatureKeys, "setting of a feature");
  const YamlValue* key = value.find("key");
  if (key == nullptr) value.fail("which feature? Give {}", kFeatureForms);
  FeatureSpec feature{.key = key->as_text(), .row = {}};
  if (const YamlValue* shape = value.find("shape")) feature.row = Shape(shape->as_ints());
  if (const YamlValue* type = value.find("type")) feature.stored = read_type(*type);
  if (const YamlValue* longest = value.find("longest")) {
    if (longest->as_int() < 1) longest->refuse("the most steps that a record has, 1 or more");
    Shape row{longest->as_int()};
    for (const Extent extent : feature.row.extents()) row.push_back(extent);
    feature.row = row;
    feature.padded = true;
  }
  return feature;
}

FeatureSpec feature_of(const YamlValue& files, std::string_view key) {
  if (const YamlValue* feature = files.find(key)) return read_feature_spec(*feature);
  files.fail("there is no {}; give {}: {}", key, key, kFeatureForms);
}

SourcePtr open_records(const RunFile& run, const YamlValue& files, const Path& cache,
                       bool inputs_only) {
  expect_keys(files, kRecordKeys, "setting of TFRecord files");
  data::TfRecordOptions options;
  const YamlValue& names = *files.find("tfrecord");
  options.files = files_of(run, names);
  options.cache = cache;
  options.x = {feature_of(files, "x")};
  if (inputs_only) return data::tfrecord(options);
  options.y = {feature_of(files, "y")};
  if (const YamlValue* weight = files.find("sample_weight"))
    options.sample_weight = weight->as_text();
  return data::tfrecord(options);
}

}  // namespace

bool is_record_file(const YamlValue& files) {
  return (files.is_scalar() && files.text.ends_with(".npz")) || hdf5_file(files) != nullptr ||
         (files.is_map() && (files.find("npz") != nullptr || files.find("tfrecord") != nullptr));
}

SourcePtr open_record_file(const RunFile& run, const YamlValue& files, const Path& cache,
                           bool inputs_only) {
  if (hdf5_file(files) != nullptr) return open_hdf5(run, files, cache, inputs_only);
  const bool records = files.is_map() && files.find("tfrecord") != nullptr;
  return records ? open_records(run, files, cache, inputs_only)
                 : open_npz(run, files, cache, inputs_only);
}

}  // namespace snug::cli

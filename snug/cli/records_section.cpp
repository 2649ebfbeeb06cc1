// Files that hold several arrays or records: {npz: data.npz, x: images, y: labels} and {tfrecord:
// "train-*.tfrecord", x: {key: pixels, shape: [28, 28], type: uint8}, y: {key: label, type:
// int64}}.

#include <array>

#include "snug/cli/run_file.h"
#include "snug/data/file_list.h"
#include "snug/data/npz.h"
#include "snug/data/tfrecord.h"

namespace snug::cli {
namespace {

constexpr std::array<std::string_view, 4> kNpzKeys = {"npz", "x", "y", "sample_weight"};
constexpr std::array<std::string_view, 4> kRecordKeys = {"tfrecord", "x", "y", "sample_weight"};
constexpr std::array<std::string_view, 3> kFeatureKeys = {"key", "shape", "type"};
constexpr std::string_view kFeatureForms = "a feature: {key: pixels, shape: [28, 28], type: uint8}";

SourcePtr open_npz(const RunFile& run, const YamlValue& files, const Path& cache) {
  data::NpzOptions options{.file = {}, .cache = cache};
  if (files.is_scalar()) {
    options.file = run.path(files);
    return data::npz(options);
  }
  expect_keys(files, kNpzKeys, "setting of an .npz file");
  options.file = run.path(*files.find("npz"));
  if (const YamlValue* x = files.find("x")) options.x = {x->as_text()};
  if (const YamlValue* y = files.find("y")) options.y = {y->as_text()};
  if (options.x.empty() != options.y.empty()) files.fail("give both x and y, or neither");
  if (const YamlValue* weight = files.find("sample_weight"))
    options.sample_weight = weight->as_text();
  return data::npz(options);
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
  return feature;
}

SourcePtr open_records(const RunFile& run, const YamlValue& files, const Path& cache) {
  expect_keys(files, kRecordKeys, "setting of TFRecord files");
  data::TfRecordOptions options;
  const YamlValue& names = *files.find("tfrecord");
  std::vector<Path> patterns;
  if (names.is_list()) {
    for (const YamlValue& name : names.list) patterns.push_back(run.path(name));
  } else {
    patterns.push_back(run.path(names));
  }
  options.files = list_files(real_files(), patterns);
  for (const char* key : {"x", "y"}) {
    const YamlValue* feature = files.find(key);
    if (feature == nullptr) files.fail("there is no {}; give {}: {}", key, key, kFeatureForms);
    (key[0] == 'x' ? options.x : options.y).push_back(read_feature_spec(*feature));
  }
  if (const YamlValue* weight = files.find("sample_weight"))
    options.sample_weight = weight->as_text();
  options.cache = cache;
  return data::tfrecord(options);
}

}  // namespace

bool is_record_file(const YamlValue& files) {
  return (files.is_scalar() && files.text.ends_with(".npz")) ||
         (files.is_map() && (files.find("npz") != nullptr || files.find("tfrecord") != nullptr));
}

SourcePtr open_record_file(const RunFile& run, const YamlValue& files, const Path& cache) {
  const bool records = files.is_map() && files.find("tfrecord") != nullptr;
  return records ? open_records(run, files, cache) : open_npz(run, files, cache);
}

}  // namespace snug::cli

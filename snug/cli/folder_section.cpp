// Folders whose sub-folders are classes: {image_folder: flowers, image_size: [180, 180]}, with
// the words of Keras's image_dataset_from_directory.

#include <array>

#include "snug/base/log.h"
#include "snug/base/nearest_word.h"
#include "snug/cli/class_names.h"
#include "snug/cli/json_text.h"
#include "snug/cli/run_file.h"
#include "snug/data/image_folder.h"

namespace snug::cli {
namespace {

constexpr std::array<std::string_view, 12> kImageKeys = {
    "image_folder",  "image_size",           "color_mode",       "label_mode",
    "interpolation", "class_names",          "validation_split", "subset",
    "seed",          "crop_to_aspect_ratio", "most_pixels",      "most_decoder_bytes"};

// One of several words, with what each stands for.
template <typename T, size_t n>
T word_of(const YamlValue& value, const std::array<std::pair<std::string_view, T>, n>& words) {
  std::string all;
  for (const auto& [word, meaning] : words) {
    if (value.is_scalar() && value.text == word) return meaning;
    all += fmt::format("{}{}", all.empty() ? "" : ", ", word);
  }
  value.refuse("one of " + all);
}

template <typename T, size_t n>
void read_word(const YamlValue& files, std::string_view key, T& to,
               const std::array<std::pair<std::string_view, T>, n>& words) {
  if (const YamlValue* value = files.find(key)) to = word_of(*value, words);
}

constexpr std::array<std::pair<std::string_view, data::LabelMode>, 4> kLabelModes = {
    {{"int", data::LabelMode::index},
     {"categorical", data::LabelMode::categorical},
     {"binary", data::LabelMode::binary},
     {"none", data::LabelMode::none}}};
constexpr std::array<std::pair<std::string_view, int>, 3> kColours = {
    {{"grayscale", 1}, {"rgb", 3}, {"rgba", 4}}};
constexpr std::array<std::pair<std::string_view, bool>, 2> kInterpolations = {
    {{"bilinear", true}, {"nearest", false}}};
constexpr std::array<std::pair<std::string_view, FolderSubset>, 2> kSubsets = {
    {{"training", FolderSubset::training}, {"validation", FolderSubset::validation}}};

// What all folders have, whatever is in them.
template <typename Options>
void read_folder(const YamlValue& files, Options& options) {
  if (const YamlValue* names = files.find("class_names")) {
    for (const YamlValue& name : names->list) options.class_names.push_back(name.as_text());
  }
  if (const YamlValue* split = files.find("validation_split"))
    options.validation_split = split->as_double();
  read_word(files, "subset", options.subset, kSubsets);
  if (const YamlValue* seed = files.find("seed")) {
    if (seed->as_int() < 0 || seed->as_int() > 0xffffffff) seed->refuse("from 0 to 2^32 - 1");
    options.seed = static_cast<uint32_t>(seed->as_int());
  }
  read_word(files, "label_mode", options.label_mode, kLabelModes);
}

// How the model's own pictures were read.
void read_kept(const std::string& fitted, data::ImageFolderOptions& options) {
  // A class has the number that it had in training, whether or not all folders are there.
  options.known_classes = class_names_of(fitted);
  const nlohmann::json all = json_object(fitted);
  if (!all.contains("pictures")) return;
  try {
    const nlohmann::json& kept = all.at("pictures");
    options.height = kept.at("height");
    options.width = kept.at("width");
    options.channels = kept.at("channels");
    options.bilinear = kept.at("bilinear");
    options.crop_to_aspect_ratio = kept.at("crop_to_aspect_ratio");
  } catch (const nlohmann::json::exception& error) {
    throw DataError("the model's file: how its pictures were read is damaged: {}; train it again",
                    error.what());
  }
}

std::string kept_settings(const data::ImageFolderOptions& options,
                          const std::vector<std::string>& classes) {
  const nlohmann::json pictures = {{"height", options.height},
                                   {"width", options.width},
                                   {"channels", options.channels},
                                   {"bilinear", options.bilinear},
                                   {"crop_to_aspect_ratio", options.crop_to_aspect_ratio}};
  return json_text(nlohmann::json({{"class_names", classes}, {"pictures", pictures}}));
}

SourcePtr open_images(const RunFile& run, const YamlValue& files, bool inputs_only,
                      std::string& fitted) {
  expect_keys(files, kImageKeys, "setting of an image folder");
  data::ImageFolderOptions options{.folder = run.path(*files.find("image_folder")),
                                   .threads = threads_of(run)};
  read_kept(fitted, options);
  read_folder(files, options);
  // What is left out is found when the rows are checked.
  const YamlValue* policy = run.section("data")->find("on_bad_row");
  options.refuse_bad = policy == nullptr || policy->text == "stop";
  if (inputs_only) options.label_mode = data::LabelMode::none;
  if (const YamlValue* size = files.find("image_size")) {
    const std::vector<int64_t> sides = size->as_ints();
    if (sides.empty() || sides.size() > 2) size->refuse("height and width, such as [180, 180]");
    options.height = sides[0];
    options.width = sides.back();
  }
  read_word(files, "color_mode", options.channels, kColours);
  read_word(files, "interpolation", options.bilinear, kInterpolations);
  if (const YamlValue* crop = files.find("crop_to_aspect_ratio"))
    options.crop_to_aspect_ratio = crop->as_bool();
  if (const YamlValue* most = files.find("most_pixels"))
    options.limits.most_pixels = most->as_int();
  if (const YamlValue* most = files.find("most_decoder_bytes"))
    options.limits.most_decoder_bytes = most->as_bytes();
  const data::ImageFolder folder = data::image_folder(options);
  log_message(LogLevel::info, "{}: {} files{}", options.folder.string(), *folder.source->rows(),
              folder.class_names.empty()
                  ? ""
                  : fmt::format(" of {} classes: {}", folder.class_names.size(),
                                fmt::join(folder.class_names, ", ")));
  if (folder.class_names.size() == 1)
    log_message(LogLevel::warning, "{}: there is one class only: there is nothing to learn from it",
                options.folder.string());
  fitted = kept_settings(
      options, options.known_classes.empty() ? folder.class_names : options.known_classes);
  return folder.source;
}

}  // namespace

bool is_folder(const YamlValue& files) {
  return files.is_map() && files.find("image_folder") != nullptr;
}

SourcePtr open_folder(const RunFile& run, const YamlValue& files, bool inputs_only,
                      std::string& fitted) {
  return open_images(run, files, inputs_only, fitted);
}

}  // namespace snug::cli

// Texts in a run file: {text_folder: reviews, sequence_length: 200}, whose sub-folders are classes,
// and {text: lines.txt, labels: labels.txt, sequence_length: 20}, a text a line.

#include <array>

#include "snug/base/log.h"
#include "snug/cli/json_text.h"
#include "snug/cli/run_file.h"
#include "snug/data/text.h"

namespace snug::cli {
namespace {

constexpr std::array<std::string_view, 13> kTextKeys = {"text_folder",
                                                        "text",
                                                        "labels",
                                                        "sequence_length",
                                                        "max_tokens",
                                                        "hash",
                                                        "lower",
                                                        "strip_punctuation",
                                                        "class_names",
                                                        "validation_split",
                                                        "subset",
                                                        "seed",
                                                        "output_sequence_length"};

void refuse_key(const YamlValue& files, const char* key, const char* why) {
  if (const YamlValue* value = files.find(key)) value->fail("{}: {}", key, why);
}

void read_folder(const RunFile& run, const YamlValue& files, data::TextOptions& options) {
  for (const char* key : {"labels", "text"})
    refuse_key(files, key, "texts of a folder have its sub-folders as labels; leave this out");
  options.folder = run.path(*files.find("text_folder"));
  if (const YamlValue* names = files.find("class_names")) {
    for (const YamlValue& name : names->list) options.class_names.push_back(name.as_text());
  }
  if (const YamlValue* split = files.find("validation_split"))
    options.validation_split = split->as_double();
  if (const YamlValue* seed = files.find("seed")) {
    if (seed->as_int() < 0 || seed->as_int() > 0xffffffff) seed->refuse("from 0 to 2^32 - 1");
    options.seed = static_cast<uint32_t>(seed->as_int());
  }
  const YamlValue* subset = files.find("subset");
  if (subset == nullptr) return;
  if (subset->as_text() != "training" && subset->as_text() != "validation")
    subset->refuse("training or validation");
  options.subset =
      subset->as_text() == "training" ? FolderSubset::training : FolderSubset::validation;
}

void read_lines(const RunFile& run, const YamlValue& files, bool inputs_only,
                data::TextOptions& options) {
  for (const char* key : {"class_names", "validation_split", "subset", "seed"}) {
    refuse_key(files, key,
               "is a setting of text_folder; lines of a file are split by fit.validation_split and "
               "data.split, and their labels name the classes");
  }
  options.files = files_of(run, files.is_map() ? *files.find("text") : files);
  if (inputs_only) return;
  const YamlValue* labels = files.find("labels");
  if (labels == nullptr)
    files.fail("which labels do the lines have? Give labels: FILE, with a label a line");
  options.labels = run.path(*labels);
}

// `kept` is what a model has learned of its texts: others are read in the same way.
data::TextOptions read_options(const RunFile& run, const YamlValue& files, bool inputs_only,
                               const nlohmann::json& kept) {
  expect_keys(files, kTextKeys, "setting of texts");
  data::TextOptions options;
  options.sequence_length = kept.value("sequence_length", int64_t{0});
  options.max_tokens = kept.value("max_tokens", options.max_tokens);
  options.hash_buckets = kept.value("hash", options.hash_buckets);
  options.words.lower = kept.value("lower", options.words.lower);
  options.words.strip_punctuation =
      kept.value("strip_punctuation", options.words.strip_punctuation);
  options.known_classes = kept.value("class_names", options.known_classes);
  if (files.find("text_folder") != nullptr) {
    read_folder(run, files, options);
    options.labelled = !inputs_only;
  } else {
    read_lines(run, files, inputs_only, options);
  }
  for (const char* key : {"sequence_length", "output_sequence_length"}) {
    if (const YamlValue* length = files.find(key)) options.sequence_length = length->as_int();
  }
  if (options.sequence_length == 0)
    files.fail("how many words of a text count? Give sequence_length: 200");
  if (const YamlValue* most = files.find("max_tokens")) options.max_tokens = most->as_int();
  if (const YamlValue* hash = files.find("hash")) options.hash_buckets = hash->as_int();
  if (const YamlValue* lower = files.find("lower")) options.words.lower = lower->as_bool();
  if (const YamlValue* strip = files.find("strip_punctuation"))
    options.words.strip_punctuation = strip->as_bool();
  return options;
}

std::string kept_of(const data::TextOptions& options, const data::TextData& text) {
  return json_text(nlohmann::json({{"vocabulary", text.vocabulary},
                                   {"class_names", text.class_names},
                                   {"sequence_length", options.sequence_length},
                                   {"max_tokens", options.max_tokens},
                                   {"hash", options.hash_buckets},
                                   {"lower", options.words.lower},
                                   {"strip_punctuation", options.words.strip_punctuation}}));
}

}  // namespace

bool is_text(const YamlValue& files) {
  return files.is_map() && (files.find("text") != nullptr || files.find("text_folder") != nullptr);
}

bool has_learned_words(const std::string& fitted) {
  return json_object(fitted).contains("vocabulary");
}

RunData open_text(const RunFile& run, const YamlValue& data, const DataRequest& request) {
  constexpr std::array<std::string_view, 5> kKeys = {"train", "validation", "on_bad_row",
                                                     "bad_rows_at_most", "split"};
  expect_keys(data, kKeys, "setting of data for texts");
  const YamlValue &train = *data.find("train"), *validation = data.find("validation");
  std::string kept = request.fitted;
  const auto open = [&](const YamlValue& files) {
    const nlohmann::json learned = json_object(kept);
    const std::vector<std::string> words = learned.value("vocabulary", std::vector<std::string>());
    data::TextOptions options = read_options(run, files, request.inputs_only, learned);
    options.cache = request.cache;
    if (!words.empty()) options.vocabulary = &words;
    if (words.empty() && request.trained && options.hash_buckets == 0)
      files.fail(
          "the model's file does not say which words it has learned, and these texts cannot tell; "
          "give the .keras or .h5 file that snug left");
    data::TextData text = placed(files.where, [&] { return data::text(options); });
    if (kept.empty()) kept = kept_of(options, text);
    return text;
  };
  const data::TextData text = open(train);
  log_message(LogLevel::info, "{} texts, {} classes, numbers of words below {}",
              *text.source->rows(), text.class_names.size(), text.tokens);
  RunData opened{
      .train = text.source, .fitted = kept, .bad_rows = read_bad_rows(run, data, request.cache)};
  if (validation == nullptr) return opened;
  if (!is_text(*validation)) validation->refuse("texts, as the training data is");
  opened.validation = open(*validation).source;
  return opened;
}

}  // namespace snug::cli

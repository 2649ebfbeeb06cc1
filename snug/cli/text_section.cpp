// Texts in a run file: {text_folder: reviews, sequence_length: 200}, whose sub-folders are classes,
// and {text: lines.txt, labels: labels.txt, sequence_length: 20}, a text a line.

#include <array>
#include <nlohmann/json.hpp>

#include "snug/base/log.h"
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

void read_folder(const RunFile& run, const YamlValue& files, data::TextOptions& options) {
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

data::TextOptions read_options(const RunFile& run, const YamlValue& files, bool inputs_only) {
  expect_keys(files, kTextKeys, "setting of texts");
  data::TextOptions options;
  if (files.find("text_folder") != nullptr) {
    read_folder(run, files, options);
    options.labelled = !inputs_only;
  } else {
    options.files = files_of(run, *files.find("text"));
    const YamlValue* labels = files.find("labels");
    if (labels != nullptr && !inputs_only) options.labels = run.path(*labels);
    if (labels == nullptr && !inputs_only)
      files.fail("which labels do the lines have? Give labels: FILE, with a label a line");
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

}  // namespace

bool is_text(const YamlValue& files) {
  return files.is_map() && (files.find("text") != nullptr || files.find("text_folder") != nullptr);
}

RunData open_text(const RunFile& run, const YamlValue& data, const DataRequest& request) {
  constexpr std::array<std::string_view, 5> kKeys = {"train", "validation", "on_bad_row",
                                                     "bad_rows_at_most", "split"};
  expect_keys(data, kKeys, "setting of data for texts");
  const YamlValue &train = *data.find("train"), *validation = data.find("validation");
  std::vector<std::string> words;
  if (!request.fitted.empty())
    words = nlohmann::json::parse(request.fitted).value("vocabulary", words);
  const auto open = [&](const YamlValue& files) {
    data::TextOptions options = read_options(run, files, request.inputs_only);
    options.cache = request.cache;
    if (!words.empty()) options.vocabulary = &words;
    return placed(files.where, [&] { return data::text(options); });
  };
  const data::TextData text = open(train);
  log_message(LogLevel::info, "{} texts, {} classes, numbers of words below {}",
              *text.source->rows(), text.class_names.size(), text.tokens);
  words = text.vocabulary;
  RunData opened{.train = text.source,
                 .fitted = nlohmann::json({{"vocabulary", words}}).dump(),
                 .bad_rows = read_bad_rows(run, data, request.cache)};
  if (validation == nullptr) return opened;
  if (!is_text(*validation)) validation->refuse("texts, as the training data is");
  opened.validation = open(*validation).source;
  return opened;
}

}  // namespace snug::cli

// CSV files in a run file: {train: rows.csv, label: income, columns: {age: standardise}}.

#include <unistd.h>

#include <algorithm>
#include <array>
#include <unordered_map>

#include "snug/base/log.h"
#include "snug/cli/line_settings.h"
#include "snug/cli/run_file.h"
#include "snug/data/csv.h"
#include "snug/data/file_list.h"

namespace snug::cli {
namespace {

constexpr std::array<std::string_view, 11> kKeys = {
    "train",      "validation",       "label", "sample_weight", "header", "columns", "delimiter",
    "on_bad_row", "bad_rows_at_most", "split", "timeseries"};
constexpr std::array<std::string_view, 5> kColumnKeys = {"use", "missing", "buckets", "clip",
                                                         "unseen"};
constexpr std::string_view kColumnForms =
    "a word (standardise, min_max, log, as_is, one_hot, index, hash, drop) or a map such as {use: "
    "standardise, missing: mean}";

bool is_csv_name(const YamlValue& value) {
  if (!value.is_scalar()) return false;
  constexpr std::array<std::string_view, 8> kEnds = {".csv",    ".tsv",    ".txt",    ".data",
                                                     ".csv.gz", ".tsv.gz", ".txt.gz", ".data.gz"};
  return std::ranges::any_of(kEnds, [&](auto end) { return value.text.ends_with(end); });
}

std::vector<std::string> names_of(const YamlValue* value) {
  std::vector<std::string> names;
  if (value == nullptr) return names;
  if (!value->is_list()) return {value->as_text()};
  for (const YamlValue& element : value->list) names.push_back(element.as_text());
  return names;
}

void read_missing(const YamlValue& value, ColumnSetting& setting) {
  for (int i = 0; i <= static_cast<int>(MissingRule::median); ++i) {
    const auto rule = static_cast<MissingRule>(i);
    if (rule != MissingRule::value && value.is_scalar() && value.text == name_of(rule)) {
      setting.missing = rule;
      return;
    }
  }
  setting.missing = MissingRule::value;
  try {
    setting.missing_value = value.as_double();
  } catch (const Error&) {
    value.refuse("refuse, mean, median, flag, category or a number");
  }
}

void read_buckets(const YamlValue& value, ColumnSetting& setting) {
  constexpr int64_t kMost = 1 << 16;
  setting.buckets = value.as_int();
  if (setting.buckets < 1 || setting.buckets > kMost) value.refuse("from 1 to 65536");
}

// [low, high]
void read_clip(const YamlValue& value, ColumnSetting& setting) {
  if (!value.is_list() || value.list.size() != 2) value.refuse("two numbers, such as [0, 100]");
  setting.low = value.list[0].as_double();
  setting.high = value.list[1].as_double();
}

void read_unseen(const YamlValue& value, ColumnSetting& setting) {
  const std::string& word = value.as_text();
  if (word != "missing" && word != "refuse") value.refuse("missing or refuse");
  setting.unseen_is_missing = word == "missing";
}

ColumnSetting read_column(const YamlValue& value) {
  ColumnSetting setting;
  const auto use = [&](const YamlValue& word) {
    setting.use = placed(word.where, [&] { return column_use(word.as_text()); });
  };
  if (value.is_scalar()) {
    use(value);
    return setting;
  }
  value.expect_map(kColumnForms);
  // {hash: 128}
  if (value.items.size() == 1 && value.items[0].key == "hash") {
    setting.use = ColumnUse::hash;
    read_buckets(value.items[0].value, setting);
    return setting;
  }
  expect_keys(value, kColumnKeys, "setting of a column");
  if (const YamlValue* word = value.find("use")) use(*word);
  if (const YamlValue* missing = value.find("missing")) read_missing(*missing, setting);
  if (const YamlValue* buckets = value.find("buckets")) read_buckets(*buckets, setting);
  if (const YamlValue* clip = value.find("clip")) read_clip(*clip, setting);
  if (const YamlValue* unseen = value.find("unseen")) read_unseen(*unseen, setting);
  return setting;
}

char read_delimiter(const YamlValue& value) {
  const std::string& text = value.as_text();
  if (text == "\\t" || text == "tab") return '\t';
  if (text.size() != 1 || text[0] == '"' || text[0] == '\n') value.refuse("one character, or tab");
  return text[0];
}

// A sixteenth of the budget, where there is one.
int64_t memory_for_rows(const RunFile& run) {
  constexpr int64_t kLeast = int64_t{1} << 20, kMost = int64_t{64} << 20;
  const YamlValue* fit = run.section("fit");
  const YamlValue* memory = fit != nullptr ? fit->find("memory") : nullptr;
  return memory == nullptr ? kMost / 4 : std::clamp(memory->as_bytes() / 16, kLeast, kMost);
}

data::CsvOptions read_options(const RunFile& run, const YamlValue& data, const Path& cache,
                              const Columns* fitted, bool inputs_only) {
  data::CsvOptions options{.like = fitted};
  options.wishes.labels = names_of(data.find("label"));
  if (inputs_only && fitted == nullptr) {
    data.fail(
        "the model was not trained on a table, so it cannot read one; give what it was "
        "trained on, such as data.x=FILE.npy");
  }
  if (options.wishes.labels.empty() && fitted == nullptr) {
    data.fail("which column is the label? Give label: NAME, one of the columns of the file");
  }
  if (const YamlValue* weight = data.find("sample_weight"))
    options.wishes.weight = weight->as_text();
  const CsvTableOptions table = csv_table_options(data, {});
  options.header = table.header;
  options.delimiter = table.delimiter;
  if (const YamlValue* columns = data.find("columns")) {
    columns->expect_map("a map of columns, such as {age: standardise}");
    for (const YamlItem& item : columns->items) {
      options.wishes.settings[item.key] = read_column(item.value);
    }
  }
  options.bad_rows = read_bad_rows(run, data, cache);
  options.cache = cache;
  options.most_in_memory = memory_for_rows(run);
  options.threads = threads_of(run);
  return options;
}

// Whether what is said there stands in the run file, and not on the command line.
bool is_of_file(const RunFile& run, const YamlValue* value) {
  return value != nullptr && value->where.starts_with(run.file + ":");
}

// The command that lists all bad rows of these files. It reads run files as they are, so that what
// the command line has changed is said by the label alone.
std::string check_line(const RunFile& run, const YamlValue& data, const YamlValue& files,
                       const DataRequest& request) {
  std::string line = "snug check";
  const auto add = [&](const YamlValue& file) {
    line += " " + shell_word(run.path(file).string());
  };
  if (files.is_list())
    std::ranges::for_each(files.list, add);
  else
    add(files);
  const std::vector<std::string> labels = names_of(data.find("label"));
  const bool is_told = is_of_file(run, data.find("train")) && is_of_file(run, data.find("label"));
  if (!request.trained_by.empty())
    return line + " --against " + shell_word(request.trained_by.string());
  if (request.fitted.empty() && is_told) return line + " --against " + shell_word(run.file);
  return labels.size() == 1 ? line + " --label " + shell_word(labels[0]) : line;
}

data::CsvData open_table(const YamlValue& files, const data::CsvOptions& options) {
  try {
    return placed(files.where, [&] { return data::csv(options); });
  } catch (const FileError& error) {
    throw FileError("{}: {}", files.where, error.what());
  }
}

std::string first_lines(const std::string& text, int count) {
  size_t at = 0;
  for (int line = 0; line < count; ++line) {
    at = text.find('\n', at);
    if (at == std::string::npos || at + 1 == text.size()) return text;
    ++at;
  }
  return text.substr(0, at) +
         fmt::format("  ... and {} more\n",
                     std::count(text.begin() + static_cast<std::ptrdiff_t>(at), text.end(), '\n'));
}

void report(const YamlValue& files, const data::CsvData& csv, bool with_columns) {
  const std::string name = files.is_list() ? files.list[0].text + ", ..." : files.text;
  constexpr int kMostLines = 40;
  if (with_columns) {
    std::string table = first_lines(csv.columns.text(), kMostLines);
    table.pop_back();
    log_message(LogLevel::info, "Columns of {}: {} rows, {} numbers for the model\n{}", name,
                *csv.source->rows(), csv.columns.input_width(), table);
  }
  for (const std::string& label : csv.columns.labels) {
    const Column* column = csv.columns.find(label);
    if (!with_columns || column == nullptr || column->vocabulary.size() != 1) continue;
    log_message(LogLevel::warning,
                "{}: the label {} is \"{}\" in every row: there is nothing to learn from it", name,
                label, column->vocabulary[0]);
  }
  if (csv.bad_rows > 0) {
    log_message(LogLevel::warning, "{}: {} bad rows are left out", name, csv.bad_rows);
  }
  if (csv.imputed > 0) {
    log_message(LogLevel::warning, "{}: {} bad cells are imputed", name, csv.imputed);
  }
}

}  // namespace

std::vector<Path> files_of(const RunFile& run, const YamlValue& value) {
  std::vector<Path> patterns;
  if (value.is_list()) {
    for (const YamlValue& element : value.list) patterns.push_back(run.path(element));
  } else {
    patterns.push_back(run.path(value));
  }
  return placed(value.where, [&] { return list_files(real_files(), patterns); });
}

bool is_csv(const YamlValue& files) {
  if (files.is_list()) return !files.list.empty() && is_csv_name(files.list[0]);
  return is_csv_name(files);
}

CsvTableOptions csv_table_options(const YamlValue& data, std::vector<Path> files) {
  CsvTableOptions options{.files = std::move(files), .header = {}};
  if (const YamlValue* header = data.find("header")) options.header = header->as_bool();
  if (const YamlValue* delimiter = data.find("delimiter"))
    options.delimiter = read_delimiter(*delimiter);
  return options;
}

BadRowOptions read_bad_rows(const RunFile& run, const YamlValue& data, const Path& cache) {
  BadRowOptions options;
  if (const YamlValue* policy = data.find("on_bad_row")) {
    options.policy = placed(policy->where, [&] { return bad_row_policy(policy->as_text()); });
  }
  if (const YamlValue* most = data.find("bad_rows_at_most")) {
    options.most = most->as_double();
    if (!(options.most >= 0 && options.most <= 1)) most->refuse("a share, from 0 to 1");
  }
  if (options.policy == BadRowPolicy::quarantine) {
    options.rejected = cache / rejected_name(run.name);
    real_files().create_directories(cache);
    real_files().remove(options.rejected);
  }
  return options;
}

void drop_targets(Columns& columns) {
  for (Column& column : columns.columns) {
    const bool label = std::ranges::find(columns.labels, column.name) != columns.labels.end();
    if (label || column.name == columns.weight) column.use = ColumnUse::drop;
  }
  columns.labels.clear();
  columns.weight.clear();
}

// Whether a table that is read like this has told something about itself.
static bool is_learned(const Column& column) {
  const bool by_range = column.use == ColumnUse::standardise || column.use == ColumnUse::min_max;
  const bool by_missing = column.is_number() && column.missing != MissingRule::refuse &&
                          column.missing != MissingRule::value;
  return by_range || by_missing || !column.vocabulary.empty();
}

// A model that has not kept what its columns were fitted to would be given other numbers than it
// was trained on.
static void refuse_learned(const YamlValue& data, const Columns& columns) {
  std::string names;
  for (const Column& column : columns.columns) {
    if (column.use == ColumnUse::drop || !is_learned(column)) continue;
    names += fmt::format("{}{} ({})", names.empty() ? "" : ", ", column.name, name_of(column.use));
  }
  if (names.empty()) return;
  data.fail(
      "the model's file does not say what its columns were fitted to, and these rows are not the "
      "ones that it was trained on, so they cannot tell: {}. Give the .keras or .h5 file that snug "
      "left, or, for a model that takes the numbers of the table, columns: {{NAME: {{use: as_is, "
      "missing: refuse}}}}",
      names);
}

// A column's settings are those that it was fitted with, where they are given.
static void expect_fitted(const YamlItem& item, const ColumnSetting& wish, const Column& column) {
  const auto expect = [&](bool is_same, const std::string& was) {
    if (!is_same)
      item.value.fail("the model was trained with {} as {}; leave this out, or train another",
                      item.key, was);
  };
  const auto is_given = [&](std::string_view key) {
    return item.value.is_map() && item.value.find(key) != nullptr;
  };
  expect(!wish.use || *wish.use == column.use, std::string(name_of(column.use)));
  const bool is_value = column.missing == MissingRule::value;
  const bool has_value = !is_value || wish.missing_value == column.missing_value;
  expect(!wish.missing || (*wish.missing == column.missing && has_value),
         is_value ? fmt::format("missing: {}", column.missing_value)
                  : fmt::format("missing: {}", name_of(column.missing)));
  const bool has_buckets = is_given("buckets") || is_given("hash");
  expect(!has_buckets || wish.buckets == column.buckets, fmt::format("hash: {}", column.buckets));
  expect(
      !is_given("clip") || (wish.low == column.low && wish.high == column.high),
      column.is_clipped() ? fmt::format("clip: [{}, {}]", column.low, column.high) : "not clipped");
}

// As the training data's are checked when columns are chosen.
static void expect_unseen(const YamlItem& item, const Columns& fitted, const Column& column) {
  const bool is_label = std::ranges::find(fitted.labels, column.name) != fitted.labels.end();
  const bool knows = column.use == ColumnUse::one_hot || column.use == ColumnUse::index;
  if (knows && !is_label && column.name != fitted.weight) return;
  item.value.fail(
      "column \"{}\" is {}, for which unseen means nothing; it is for inputs that are one_hot or "
      "index",
      column.name, is_label ? "the label" : name_of(column.use));
}

// Which columns are labels or weights is the model's, too.
static void expect_fitted(const YamlValue& data, std::string_view key,
                          const std::vector<std::string>& fitted) {
  const YamlValue* given = data.find(key);
  if (given == nullptr || names_of(given) == fitted) return;
  given->fail("the model was trained with {}; leave this out, or train another",
              fitted.empty() ? fmt::format("no {}", key)
                             : fmt::format("{}: {}", key, fmt::join(fitted, ", ")));
}

// What a model reads of its columns stays as it was fitted. What becomes of categories that it does
// not know, and of numbers that were missing nowhere, may be said anew.
static void say_anew(const YamlValue& data, Columns& fitted) {
  expect_fitted(data, "label", fitted.labels);
  expect_fitted(data, "sample_weight",
                fitted.weight.empty() ? std::vector<std::string>() : std::vector{fitted.weight});
  const YamlValue* settings = data.find("columns");
  if (settings == nullptr) return;
  settings->expect_map("a map of columns, such as {age: standardise}");
  std::unordered_map<std::string_view, Column*> columns;
  for (Column& column : fitted.columns) columns.emplace(column.name, &column);
  for (const YamlItem& item : settings->items) {
    const auto found = columns.find(item.key);
    if (found == columns.end())
      settings->fail("the model was trained on a table without a column \"{}\"", item.key);
    Column* column = found->second;
    const ColumnSetting wish = read_column(item.value);
    // The mean is kept in any case. Models that were trained before 2026-11-19 refuse numbers that
    // were missing nowhere.
    const bool refuses = column->is_number() && column->missing == MissingRule::refuse;
    if (refuses && wish.missing == MissingRule::mean && fitted.is_input(*column))
      column->missing = MissingRule::mean;
    expect_fitted(item, wish, *column);
    if (!wish.unseen_is_missing) continue;
    expect_unseen(item, fitted, *column);
    column->unseen_is_missing = *wish.unseen_is_missing;
  }
}

// Rows on both sides of one that is left out would be neighbours of a sequence.
static SourcePtr in_sequence(const YamlValue& data, const data::CsvData& rows) {
  const YamlValue* timeseries = data.find("timeseries");
  if (timeseries != nullptr && rows.bad_rows > 0)
    timeseries->fail(
        "{} bad rows are left out, and sequences would go on over the gaps as if there were none; "
        "mend the rows, or give on_bad_row: impute",
        rows.bad_rows);
  return as_timeseries(data, rows.source);
}

RunData open_csv(const RunFile& run, const YamlValue& data, const DataRequest& request) {
  expect_keys(data, kKeys, "setting of data for CSV files");
  const YamlValue &train = *data.find("train"), *validation = data.find("validation");
  std::optional<Columns> fitted;
  if (!request.fitted.empty()) fitted = Columns::from_json(request.fitted);
  if (fitted) say_anew(data, *fitted);
  if (fitted && request.inputs_only) drop_targets(*fitted);
  data::CsvOptions options =
      read_options(run, data, request.cache, fitted ? &*fitted : nullptr, request.inputs_only);
  options.files = files_of(run, train);
  options.wishes.mean_for_others = !request.trained;
  options.bad_rows.check = check_line(run, data, train, request);
  const data::CsvData rows = open_table(train, options);
  if (request.trained && !fitted) refuse_learned(data, rows.columns);
  report(train, rows, /*with_columns=*/!fitted);
  RunData opened{.train = in_sequence(data, rows),
                 .columns = fitted ? *fitted : rows.columns,
                 .bad_rows = options.bad_rows,
                 .left_out = rows.bad_rows};
  opened.fitted = opened.columns->json();
  if (validation == nullptr) return opened;
  if (!is_csv(*validation)) validation->refuse("CSV files, as the training data is");
  options.files = files_of(run, *validation);
  options.bad_rows.check = check_line(run, data, *validation, request);
  options.like = &*opened.columns;
  const data::CsvData other = open_table(*validation, options);
  report(*validation, other, /*with_columns=*/false);
  opened.validation = in_sequence(data, other);
  opened.left_out += other.bad_rows;
  return opened;
}

// [low, high], as read_clip() reads it.
static void set_clip(YamlValue& value, const Column& column) {
  value.kind = YamlValue::Kind::list;
  for (const double bound : {column.low, column.high}) {
    value.list.emplace_back();
    value.list.back().where = value.where;
    value.list.back().set_text(std::isfinite(bound) ? fmt::format("{}", bound)
                               : bound < 0          ? "-inf"
                                                    : "inf");
  }
}

// Those that are named stay where they stand; the others follow. Not by at(), which looks through
// all of them.
void set_columns(RunFile& run, const Columns& columns) {
  YamlValue& data = run.tree.at("data", run.file);
  data.at("header", run.file).set_text(columns.has_header ? "true" : "false");
  YamlValue& map = data.at("columns", run.file);
  map.kind = YamlValue::Kind::map;
  std::unordered_map<std::string, size_t> places;
  for (const YamlItem& item : map.items) places.emplace(item.key, places.size());
  for (const Column& column : columns.columns) {
    const auto [place, is_new] = places.emplace(column.name, map.items.size());
    if (is_new) map.items.push_back({.key = column.name, .where = run.file, .value = {}});
    YamlValue& value = map.items[place->second].value;
    value = YamlValue{};
    value.where = run.file;
    value.path = fmt::format("{}.{}", map.path, column.name);
    value.kind = YamlValue::Kind::map;
    value.at("use", run.file).set_text(name_of(column.use));
    if (column.use == ColumnUse::drop) continue;
    value.at("missing", run.file)
        .set_text(column.missing == MissingRule::value ? fmt::format("{}", column.missing_value)
                                                       : std::string(name_of(column.missing)));
    if (column.use == ColumnUse::hash) {
      value.at("buckets", run.file).set_text(std::to_string(column.buckets));
    }
    if (column.unseen_is_missing) value.at("unseen", run.file).set_text("missing");
    if (column.is_clipped()) set_clip(value.at("clip", run.file), column);
  }
}

}  // namespace snug::cli

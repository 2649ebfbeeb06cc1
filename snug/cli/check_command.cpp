// What is wrong with a data file, by row.

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <optional>

#include "snug/cli/check_report.h"
#include "snug/cli/command.h"
#include "snug/cli/json_text.h"
#include "snug/cli/run_file.h"
#include "snug/data/array_names.h"
#include "snug/data/column_doubts.h"
#include "snug/data/csv_cell.h"
#include "snug/data/file_chain.h"
#include "snug/data/file_list.h"
#include "snug/data/hdf5.h"
#include "snug/data/idx.h"
#include "snug/data/image_folder.h"
#include "snug/data/npy.h"
#include "snug/data/npz.h"
#include "snug/data/table_report.h"
#include "snug/data/tfrecord.h"

namespace snug::cli {
namespace {

using Json = nlohmann::ordered_json;

bool has_folders(const Path& folder) {
  return std::ranges::any_of(std::filesystem::directory_iterator(folder),
                             [](const auto& entry) { return entry.is_directory(); });
}

// What a table is held against: the label, and the columns of the run's training data.
struct Against {
  std::vector<std::string> labels;
  std::optional<Columns> columns;
  CsvTableOptions table;
};

void expect_data(const std::string& file) {
  if (!file.ends_with(".yaml") && !file.ends_with(".yml")) return;
  throw Error("{}: it is a run file, no data; give data: snug check rows.csv --against {}", file,
              file);
}

// What stands behind the data: more files of a table, and nothing else.
void expect_files(const Arguments& arguments) {
  for (const std::string& file : arguments.files) {
    if (file.find('=') == std::string::npos || std::filesystem::exists(file)) continue;
    throw Error("{}: check takes no settings; give --label COLUMN, or --against run.yaml", file);
  }
}

void expect_one_file(const Arguments& arguments) {
  if (arguments.files.empty()) return;
  throw Error("{}: only the files of a table are checked together; check {} by itself",
              arguments.run_file, arguments.files[0]);
}

Against against_of(const Arguments& arguments) {
  Against against;
  if (!arguments.label.empty()) against.labels = {arguments.label};
  if (arguments.against.empty()) return against;
  const RunFile run = read_run_file(arguments.against, {});
  const YamlValue* section = run.section("data");
  const YamlValue* train = section != nullptr ? section->find("train") : nullptr;
  if (train == nullptr || !is_csv(*train)) {
    throw PlacedError(run.file,
                      "its data are no CSV, .npz, HDF5 or TFRecord files; --against is for those");
  }
  // Only to learn the columns: bad rows of the training data are not this command's business.
  RunFile lenient = run;
  YamlValue& data = lenient.tree.at("data", run.file);
  data.at("on_bad_row", run.file).set_text("skip");
  data.at("bad_rows_at_most", run.file).set_text("1");
  std::erase_if(data.items, [](const YamlItem& item) { return item.key == "validation"; });
  against.columns = open_csv(lenient, data, {.cache = arguments.cache()}).columns;
  against.labels = against.columns->labels;
  against.table = csv_table_options(data, {});
  against.table.header = against.columns->has_header;
  return against;
}

std::string most_common(const ColumnScan& column) {
  if (column.values.is_full()) {
    const bool many = column.present() > static_cast<int64_t>(Vocabulary::kMostWords);
    return many ? fmt::format("more than {}, or long ones", Vocabulary::kMostWords) : "long texts";
  }
  std::vector<std::string> words = column.values.sorted();
  std::ranges::stable_sort(words, std::greater(),
                           [&](const std::string& word) { return column.values.count(word); });
  std::string text;
  constexpr size_t kMost = 4;
  for (size_t i = 0; i < std::min(kMost, words.size()); ++i) {
    text += fmt::format("{}{} {}", i > 0 ? ", " : "", in_quotes(words[i]),
                        column.values.count(words[i]));
  }
  return words.size() > kMost ? text + ", ..." : text;
}

void print_columns(const TableReport& report) {
  size_t longest = 6;
  for (const ColumnScan& column : report.scan.columns) {
    longest = std::max(longest, std::min<size_t>(column.name.size(), 24));
  }
  fmt::print("  {:<{}}  {:<8}  {:>8}  {:>8}  {}\n", "column", longest, "type", "missing",
             "distinct", "values");
  for (const ColumnScan& column : report.scan.columns) {
    const std::string distinct =
        column.values.is_full() ? "many" : std::to_string(column.values.size());
    const std::string values = column.is_number()
                                   ? range_text(column.min, column.max, column.mean())
                                   : (column.present() == 0 ? "" : most_common(column));
    fmt::print("  {:<{}}  {:<8}  {:>8}  {:>8}  {}\n", column.name, longest, kind_of(column),
               column.missing, distinct, values);
  }
}

// Many rows by what is wrong with them, then the first ones.
void print_bad_rows(const TableReport& report) {
  constexpr int64_t kFew = 3;
  constexpr size_t kOfOneKind = 5;
  if (report.bad_rows == 0) return;
  fmt::print("\nBad rows: {} of {}\n", report.bad_rows, report.scan.records);
  if (report.bad_rows > kFew && std::ssize(report.kinds) < report.bad_rows) {
    int64_t others = report.bad_rows;
    for (const BadRowKind& kind : report.kinds) {
      fmt::print("  {:>6} x {}; the first: {}\n", kind.rows, kind.text(), kind.first);
      others -= kind.rows;
    }
    if (others > 0) fmt::print("  {:>6} x something else\n", others);
    fmt::print("\nThe first of them:\n");
  }
  // Of one kind a few are enough; what can be done stands below them.
  const size_t most = report.kinds.size() == 1 ? kOfOneKind : report.listed.size();
  const size_t listed = std::min(most, report.listed.size());
  for (size_t i = 0; i < listed; ++i) fmt::print("  {}\n", report.listed[i].text());
  const int64_t more = report.bad_rows - static_cast<int64_t>(listed);
  if (more > 0) fmt::print("  ... and {} more\n", more);
}

void print_table(const std::string& name, const TableReport& report) {
  fmt::print("{}: {}, {}, the longest row in line {} with {} bytes\n\n", name,
             count_text(report.scan.records, "row"),
             count_text(std::ssize(report.scan.columns), "column"), report.scan.longest_record_line,
             report.scan.longest_record);
  print_columns(report);
  print_bad_rows(report);
  if (!report.wrong.empty()) fmt::print("\nTo mend:\n");
  for (const std::string& line : report.wrong) fmt::print("  {}\n", line);
  if (!report.notes.empty()) fmt::print("\nTo know:\n");
  for (const std::string& line : report.notes) fmt::print("  {}\n", line);
  if (report.is_clean()) {
    fmt::print("\nNothing is wrong.\n");
  } else if (report.bad_rows > 0) {
    fmt::print("\nNext: {}\n",
               way_out(report.bad_rows, report.scan.records, report.imputable == report.bad_rows));
  }
}

Json json_of(const TableReport& report) {
  Json columns = Json::array();
  for (const ColumnScan& column : report.scan.columns) {
    Json item = {{"name", column.name}, {"type", kind_of(column)}, {"missing", column.missing}};
    if (!column.values.is_full()) item["distinct"] = column.values.size();
    if (column.is_number()) {
      item.update({{"min", column.min},
                   {"max", column.max},
                   {"mean", column.mean()},
                   {"deviation", column.deviation()}});
    }
    constexpr size_t kMostClasses = 100;
    if (!column.is_number() && column.values.size() <= kMostClasses) {
      Json counts = Json::object();
      for (const std::string& word : column.values.sorted()) {
        counts[word] = column.values.count(word);
      }
      item["counts"] = counts;
    }
    columns.push_back(item);
  }
  Json bad = Json::array();
  for (const BadRow& row : report.listed) {
    bad.push_back({{"file", row.file},
                   {"position", row.position},
                   {"column", row.column},
                   {"value", row.value},
                   {"problem", row.problem}});
  }
  Json kinds = Json::array();
  for (const BadRowKind& kind : report.kinds)
    kinds.push_back({{"rows", kind.rows}, {"what", kind.text()}, {"first", kind.first}});
  return {{"rows", report.scan.records},
          {"columns", columns},
          {"bad_rows", report.bad_rows},
          {"listed", bad},
          {"kinds", kinds},
          {"wrong", report.wrong},
          {"notes", report.notes}};
}

// Rows that are only predicted for have no labels; what is to be known then, or nothing.
std::string without_labels(Against& against, const CsvTable& table) {
  const auto is_there = [&](const std::string& label) {
    return std::ranges::find(table.names(), label) != table.names().end();
  };
  if (!against.columns || std::ranges::any_of(against.labels, is_there)) return "";
  const std::string label = against.labels[0];
  drop_targets(*against.columns);
  against.labels.clear();
  return fmt::format("there is no column {}, the label: these rows can only be predicted for",
                     in_quotes(label));
}

int check_table(const Arguments& arguments) {
  std::vector<Path> patterns = {arguments.run_file};
  patterns.insert(patterns.end(), arguments.files.begin(), arguments.files.end());
  Against against = against_of(arguments);
  CsvTableOptions options = against.table;
  options.files = list_files(real_files(), patterns);
  CsvTable table(real_files(), options);
  const std::string note = without_labels(against, table);
  TableReport report = report_on(
      table, {.labels = against.labels, .like = against.columns ? &*against.columns : nullptr});
  if (!note.empty()) report.notes.push_back(note);
  if (note.empty() && against.labels.empty() && report.scan.columns.size() > 1) {
    report.notes.emplace_back(
        "no label was named; --label COLUMN looks for rows without one and for classes that only "
        "the last rows have");
  }
  const int exit = report.is_clean() ? 0 : kBadData;
  if (arguments.json) {
    Json json = {{"command", "check"}, {"exit", exit}};
    json.update(json_of(report));
    fmt::print("{}\n", json_text(json));
  } else {
    print_table(options.files.size() == 1 ? arguments.run_file
                                          : fmt::format("{} files", options.files.size()),
                report);
  }
  return exit;
}

int check_source(const Arguments& arguments, Source& source) {
  expect_one_file(arguments);
  return print_arrays(arguments, {{arguments.run_file, report_on(source)}}, {});
}

bool is_named(const std::string& name, std::span<const std::string_view> ends) {
  return std::ranges::any_of(ends, [&](std::string_view end) {
    return name.ends_with(end) || name.ends_with(fmt::format("{}.gz", end));
  });
}

SourcePtr open_array(const Path& file, const data::Hdf5Array& array) {
  data::Hdf5Options options{.file = file};
  (array.role == FieldRole::target ? options.y : options.x) = {array.name};
  return data::hdf5(options);
}

struct NamedRows {
  std::string name;
  int64_t rows = 0;
};

// Each array by itself: which of them belong together is the run's business, unless their names
// say so.
int check_hdf5(const Arguments& arguments) {
  expect_one_file(arguments);
  const Path file = data::plain_file(real_files(), arguments.run_file, arguments.cache());
  std::vector<NamedReport> reports;
  std::vector<std::string> notes;
  std::optional<NamedRows> inputs, targets;
  for (const data::Hdf5Array& array : data::hdf5_arrays(file)) {
    if (!array.not_read.empty()) {
      notes.push_back(fmt::format("\"{}\" {}", array.name, array.not_read));
      continue;
    }
    const SourcePtr source = open_array(file, array);
    reports.push_back({source->fields()[0].name, report_on(*source)});
    if (array.role)
      (array.role == FieldRole::input ? inputs : targets) = NamedRows{array.name, *source->rows()};
  }
  if (inputs && targets && inputs->rows != targets->rows) {
    reports.back().report.wrong.push_back(
        fmt::format("\"{}\" has {} rows and \"{}\" has {}, but inputs and targets must be as many",
                    inputs->name, inputs->rows, targets->name, targets->rows));
  }
  return print_arrays(arguments, reports, notes);
}

// A text a line, or a text a file in folders that are classes.
int check_texts(const Arguments& arguments) {
  expect_one_file(arguments);
  data::TextOptions options;
  if (std::filesystem::is_directory(arguments.run_file)) {
    options.folder = arguments.run_file;
    options.labelled = has_folders(arguments.run_file);
  } else {
    const std::vector<Path> patterns = {arguments.run_file};
    options.files = list_files(real_files(), patterns);
    options.labels = arguments.label;
  }
  return print_texts(arguments, report_on(options));
}

// Whether the rows of a folder are texts, and no pictures. Where there are folders of classes, what
// stands beside them is no row: a licence, a list of the files.
bool has_texts(const Path& folder) {
  const bool has_classes = has_folders(folder);
  int64_t texts = 0, pictures = 0;
  for (std::filesystem::recursive_directory_iterator entry(folder), end; entry != end; ++entry) {
    if (has_classes && entry.depth() == 0) continue;
    std::string ending = entry->path().extension().string();
    std::ranges::transform(ending, ending.begin(), [](unsigned char c) { return std::tolower(c); });
    texts += ending == ".txt" ? 1 : 0;
    pictures += std::ranges::count(data::kPictureEndings, ending);
  }
  return texts > pictures;
}

// The rows of a file as a run reads its training data: the same arrays, or features of records.
SourcePtr open_like(const Arguments& arguments, RunFile run) {
  YamlValue& data = *run.tree.find("data");
  YamlValue& train = *data.find("train");
  YamlValue* file = &train;
  for (const char* key : {"npz", "hdf5", "file", "tfrecord"}) {
    if (YamlValue* found = train.is_map() ? train.find(key) : nullptr) file = found;
  }
  *file = YamlValue{.kind = YamlValue::Kind::scalar,
                    .text = std::filesystem::absolute(arguments.run_file).string(),
                    .where = file->where,
                    .path = file->path};
  return open_record_file(run, train, arguments.cache(), /*inputs_only=*/false);
}

// Whether the run's training data is of files that hold several arrays or records.
std::optional<RunFile> run_of_records(const Arguments& arguments) {
  if (arguments.against.empty()) return std::nullopt;
  RunFile run = read_run_file(arguments.against, {});
  const YamlValue* data = run.section("data");
  const YamlValue* train = data != nullptr && data->is_map() ? data->find("train") : nullptr;
  if (train == nullptr || !is_record_file(*train)) return std::nullopt;
  return run;
}

// The features that the first record has; a run may read fewer of them, or in another shape.
int check_records(const Arguments& arguments) {
  expect_one_file(arguments);
  data::TfRecordOptions options{.files = {arguments.run_file}, .cache = arguments.cache()};
  std::vector<std::string> notes;
  for (const FoundFeature& feature : data::first_features(options)) {
    const bool is_target = std::ranges::count(kTargetNames, feature.spec.key) > 0;
    if (feature.why_not.empty()) {
      (is_target ? options.y : options.x).push_back(feature.spec);
    } else {
      notes.push_back(fmt::format("feature \"{}\": {}", feature.spec.key, feature.why_not));
    }
  }
  if (options.x.empty()) options.x.swap(options.y);
  if (options.x.empty()) return print_arrays(arguments, {}, notes);
  notes.emplace_back(
      "these are the features of the first record; --against run.yaml looks at those that a run "
      "reads, and in its shapes");
  return print_arrays(arguments, {{arguments.run_file, report_on(*data::tfrecord(options))}},
                      notes);
}

// Classes without a picture that can be read, and such that may be one.
void judge_classes(const std::vector<std::string>& names,
                   const std::map<std::string, int64_t>& counts, SourceReport& report) {
  for (const std::string& name : names) {
    if (counts.contains(name)) continue;
    report.wrong.push_back(
        fmt::format("class {} has no picture that can be read; add some, or take its folder away",
                    in_quotes(name)));
  }
  std::ranges::move(classes_written_twice(counts), std::back_inserter(report.wrong));
}

int check_folder(const Arguments& arguments) {
  expect_one_file(arguments);
  const std::string& name = arguments.run_file;
  if (has_texts(name)) return check_texts(arguments);
  data::ImageFolderOptions options{.folder = name};
  options.label_mode = has_folders(name) ? data::LabelMode::index : data::LabelMode::none;
  options.refuse_bad = false;
  const data::ImageFolder folder = data::image_folder(options);
  SourceReport report = report_on(*folder.source, {.tail = 0});
  for (FieldReport& field : report.fields) {
    std::map<std::string, int64_t> named;
    for (const auto& [number, count] : field.classes)
      named[folder.class_names[std::stoul(number)]] = count;
    if (field.field.role == FieldRole::target) judge_classes(folder.class_names, named, report);
    field.classes = std::move(named);
  }
  return print_arrays(
      arguments, {{name, std::move(report)}},
      {fmt::format("pictures are scaled to {} x {} if a run does not say image_size",
                   options.height, options.width)});
}

}  // namespace

int check_command(const Arguments& arguments) {
  constexpr std::array<std::string_view, 3> kHdf5 = {".h5", ".hdf5", ".mat"};
  constexpr std::array<std::string_view, 2> kRecords = {".tfrecord", ".tfrecords"};
  const std::string& name = arguments.run_file;
  expect_data(name);
  expect_files(arguments);
  if (arguments.text) return check_texts(arguments);
  if (std::filesystem::is_directory(name)) return check_folder(arguments);
  if (const std::optional<RunFile> run = run_of_records(arguments))
    return check_source(arguments, *open_like(arguments, *run));
  if (name.ends_with(".npy"))
    return check_source(arguments, *data::npy({.x = {name}, .y = {}, .cache = arguments.cache()}));
  if (name.ends_with(".npz"))
    return check_source(
        arguments,
        *data::npz({.file = name, .cache = arguments.cache(), .most_summed = INT64_MAX}));
  if (is_named(name, kHdf5)) return check_hdf5(arguments);
  if (is_named(name, kRecords)) return check_records(arguments);
  if (name.find("-ubyte") != std::string::npos || name.ends_with(".idx") ||
      name.ends_with(".idx.gz")) {
    return check_source(arguments, *data::idx({.x = {name}, .y = {}, .cache = arguments.cache()}));
  }
  return check_table(arguments);
}

}  // namespace snug::cli

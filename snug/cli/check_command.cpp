// What is wrong with a data file, by row.

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

#include "snug/cli/command.h"
#include "snug/cli/run_file.h"
#include "snug/data/checked.h"
#include "snug/data/csv_cell.h"
#include "snug/data/file_list.h"
#include "snug/data/idx.h"
#include "snug/data/image_folder.h"
#include "snug/data/npy.h"
#include "snug/data/table_report.h"

namespace snug::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kBadData = 4;

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// What a table is held against: the label, and the columns of the run's training data.
struct Against {
  std::vector<std::string> labels;
  std::optional<Columns> columns;
};

Against against_of(const Arguments& arguments) {
  Against against;
  if (!arguments.label.empty()) against.labels = {arguments.label};
  if (arguments.against.empty()) return against;
  const RunFile run = read_run_file(arguments.against, {});
  const YamlValue* section = run.section("data");
  const YamlValue* train = section != nullptr ? section->find("train") : nullptr;
  if (train == nullptr || !is_csv(*train)) {
    throw PlacedError(run.file, "its data are no CSV files; --against is for those");
  }
  // Only to learn the columns: bad rows of the training data are not this command's business.
  RunFile lenient = run;
  YamlValue& data = lenient.tree.at("data", run.file);
  data.at("on_bad_row", run.file).set_text("skip");
  data.at("bad_rows_at_most", run.file).set_text("1");
  std::erase_if(data.items, [](const YamlItem& item) { return item.key == "validation"; });
  against.columns = open_csv(lenient, data, {.cache = arguments.cache()}).columns;
  against.labels = against.columns->labels;
  return against;
}

std::string most_common(const ColumnScan& column) {
  if (column.values.is_full()) return fmt::format("more than {}", Vocabulary::kMostWords);
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
    const std::string values =
        column.is_number()
            ? fmt::format("{:.6g} to {:.6g}, mean {:.6g}", column.min, column.max, column.mean())
            : (column.present() == 0 ? "" : most_common(column));
    fmt::print("  {:<{}}  {:<8}  {:>8}  {:>8}  {}\n", column.name, longest, kind_of(column),
               column.missing, distinct, values);
  }
}

void print_table(const std::string& name, const TableReport& report) {
  fmt::print("{}: {} rows, {} columns, the longest row in line {} with {} bytes\n\n", name,
             report.scan.records, report.scan.columns.size(), report.scan.longest_record_line,
             report.scan.longest_record);
  print_columns(report);
  if (report.bad_rows > 0) fmt::print("\nBad rows: {}\n", report.bad_rows);
  for (const BadRow& row : report.listed) fmt::print("  {}\n", row.text());
  if (report.bad_rows > std::ssize(report.listed)) {
    fmt::print("  ... and {} more\n", report.bad_rows - std::ssize(report.listed));
  }
  if (!report.wrong.empty()) fmt::print("\nTo mend:\n");
  for (const std::string& line : report.wrong) fmt::print("  {}\n", line);
  if (!report.notes.empty()) fmt::print("\nTo know:\n");
  for (const std::string& line : report.notes) fmt::print("  {}\n", line);
  if (report.is_clean()) {
    fmt::print("\nNothing is wrong.\n");
  } else if (report.bad_rows > 0) {
    fmt::print(
        "\nNext: mend the rows, or let a run leave them out: data: {{on_bad_row: quarantine}}\n");
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
  return {{"rows", report.scan.records}, {"columns", columns},
          {"bad_rows", report.bad_rows}, {"listed", bad},
          {"wrong", report.wrong},       {"notes", report.notes}};
}

int check_table(const Arguments& arguments) {
  const std::vector<Path> patterns = {arguments.run_file};
  const Against against = against_of(arguments);
  CsvTableOptions options{.files = list_files(real_files(), patterns), .header = {}};
  if (against.columns) options.header = against.columns->has_header;
  CsvTable table(real_files(), options);
  const TableReport report = report_on(
      table, {.labels = against.labels, .like = against.columns ? &*against.columns : nullptr});
  const int exit = report.is_clean() ? 0 : kBadData;
  if (arguments.json) {
    Json json = {{"command", "check"}, {"exit", exit}};
    json.update(json_of(report));
    fmt::print("{}\n", dump(json));
  } else {
    print_table(arguments.run_file, report);
  }
  return exit;
}

// What all elements of an array have in common.
struct ArrayScan {
  int64_t bad_rows = 0;
  std::vector<BadRow> listed;
  double min = std::numeric_limits<double>::infinity();
  double max = -std::numeric_limits<double>::infinity();
  double sum = 0;
  int64_t count = 0;
};

ArrayScan scan_array(Source& source) {
  constexpr size_t kMostListed = 20;
  ArrayScan scan;
  data::visit_rows(source, {},
                   {.bad =
                        [&](int64_t, const BadRow& row) {
                          if (scan.bad_rows++ < static_cast<int64_t>(kMostListed)) {
                            scan.listed.push_back(row);
                          }
                        },
                    .good =
                        [&](int, std::span<const float> values) {
                          for (const float value : values) {
                            scan.min = std::min<double>(scan.min, value);
                            scan.max = std::max<double>(scan.max, value);
                            scan.sum += value;
                          }
                          scan.count += std::ssize(values);
                        }});
  return scan;
}

int check_array(const Arguments& arguments, const SourcePtr& source) {
  const Field& field = source->fields()[0];
  const ArrayScan scan = scan_array(*source);
  const int exit = scan.bad_rows == 0 && *source->rows() > 0 ? 0 : kBadData;
  if (arguments.json) {
    Json bad = Json::array();
    for (const BadRow& row : scan.listed) {
      bad.push_back({{"file", row.file}, {"position", row.position}, {"problem", row.problem}});
    }
    Json json = {{"command", "check"},
                 {"exit", exit},
                 {"rows", *source->rows()},
                 {"row", field.row.text()},
                 {"type", name_of(field.stored)},
                 {"bad_rows", scan.bad_rows},
                 {"listed", bad}};
    if (scan.count > 0) {
      json.update({{"min", scan.min},
                   {"max", scan.max},
                   {"mean", scan.sum / static_cast<double>(scan.count)}});
    }
    fmt::print("{}\n", dump(json));
    return exit;
  }
  fmt::print("{}: {} rows of {}{}\n", arguments.run_file, *source->rows(), name_of(field.stored),
             field.row.text());
  if (scan.count > 0) {
    fmt::print("  {:.6g} to {:.6g}, mean {:.6g}\n", scan.min, scan.max,
               scan.sum / static_cast<double>(scan.count));
  }
  if (scan.bad_rows > 0) fmt::print("\nBad rows: {}\n", scan.bad_rows);
  for (const BadRow& row : scan.listed) {
    fmt::print("  {}: {}\n", row.position.empty() ? row.file : row.position, row.problem);
  }
  if (scan.bad_rows > std::ssize(scan.listed)) {
    fmt::print("  ... and {} more\n", scan.bad_rows - std::ssize(scan.listed));
  }
  if (*source->rows() == 0) fmt::print("\nThere are no rows.\n");
  if (exit == 0) fmt::print("\nNothing is wrong.\n");
  return exit;
}

}  // namespace

int check_command(const Arguments& arguments) {
  const std::string& name = arguments.run_file;
  if (name.ends_with(".npy")) {
    return check_array(arguments, data::npy(Path(name)));
  }
  if (name.find("-ubyte") != std::string::npos || name.ends_with(".idx") ||
      name.ends_with(".idx.gz")) {
    return check_array(arguments, data::idx({.x = {name}, .y = {}, .cache = arguments.cache()}));
  }
  if (std::filesystem::is_directory(name)) {
    const bool labelled =
        std::ranges::any_of(std::filesystem::directory_iterator(name),
                            [](const auto& entry) { return entry.is_directory(); });
    data::ImageFolderOptions options{.folder = name};
    options.label_mode = labelled ? data::LabelMode::index : data::LabelMode::none;
    options.refuse_bad = false;
    return check_array(arguments, data::image_folder(options).source);
  }
  return check_table(arguments);
}

}  // namespace snug::cli

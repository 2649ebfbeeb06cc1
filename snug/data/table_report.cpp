#include "snug/data/table_report.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "snug/base/error.h"
#include "snug/data/class_sides.h"
#include "snug/data/column_doubts.h"
#include "snug/data/csv.h"
#include "snug/data/csv_cell.h"
#include "snug/data/row_encoder.h"
#include "snug/data/swallowed_rows.h"

namespace snug {
namespace {

void find_doubts(const ReportOptions& options, TableReport& report) {
  for (const ColumnScan& column : report.scan.columns) {
    std::ranges::move(words_written_twice(column), std::back_inserter(report.wrong));
    if (std::ranges::count(options.labels, column.name) > 0) continue;
    if (is_index_of_pandas(column)) {
      report.notes.push_back(
          fmt::format("{} has no name and numbers the rows; it will be dropped", column.name));
    } else if (std::optional<std::string> doubt = doubt_of_id(column)) {
      report.notes.push_back(std::move(*doubt));
    } else if (std::optional<std::string> numbers = doubt_of_written_numbers(column)) {
      report.notes.push_back(std::move(*numbers));
    } else if (std::optional<std::string> dates = doubt_of_dates(column)) {
      report.notes.push_back(std::move(*dates));
    } else if (std::optional<std::string> mark = doubt_of_mark(column)) {
      report.notes.push_back(std::move(*mark));
    }
  }
}

// What it is called in a sentence; one without a name is called "column 3" already.
std::string title_of(std::string_view name) {
  return name.starts_with("column ") ? std::string(name) : fmt::format("column {}", name);
}

void find_useless_columns(TableReport& report) {
  std::map<uint64_t, std::string_view> seen;
  for (const ColumnScan& column : report.scan.columns) {
    if (column.cells == 0) continue;
    const bool constant = !column.values.is_full() && column.values.size() == 1;
    if (column.present() == 0) {
      report.notes.push_back(fmt::format("{} is empty; it will be dropped", title_of(column.name)));
    } else if (constant && column.missing == 0) {
      report.notes.push_back(fmt::format(
          "{} is always {}, so it teaches nothing; leave it out: columns: {{{}: drop}}",
          title_of(column.name), in_quotes(column.values.sorted()[0]), yaml_key(column.name)));
    } else if (const auto [other, is_new] = seen.emplace(column.hash, column.name); !is_new) {
      report.notes.push_back(
          fmt::format("{} is the same as {}; leave one out: columns: {{{}: drop}}",
                      title_of(column.name), title_of(other->second), yaml_key(column.name)));
    }
    const int64_t texts = column.present() - column.numbers - column.not_finite;
    if (!column.is_number() && column.numbers > 0 && 10 * column.numbers > column.present()) {
      report.notes.push_back(
          fmt::format("column {} is taken for a category: {} of its cells are numbers and {} are "
                      "texts, such as "
                      "{} in line {}",
                      column.name, column.numbers, texts, in_quotes(column.first_text),
                      column.first_text_line));
    }
  }
}

// How the rows would be encoded: as those of the training data, or by themselves.
Columns columns_for(CsvTable& table, TableReport& report, const ReportOptions& options) {
  if (options.like != nullptr) return data::columns_like(*options.like, table);
  ColumnWishes wishes{.labels = options.labels};
  data::check_header(table, wishes);
  // A column that cannot be learned from is no reason to look no further.
  for (const ColumnScan& column : report.scan.columns) {
    if (column.present() == 0) wishes.settings[column.name].use = ColumnUse::drop;
  }
  try {
    return choose_columns(report.scan.columns, wishes, table.paths()[0].string());
  } catch (const DataError& error) {
    report.wrong.emplace_back(error.what());
  }
  // The number of cells can still be looked at.
  Columns columns;
  for (const std::string& name : table.names()) columns.columns.push_back({.name = name});
  return columns;
}

// The column whose classes are counted: the one label, where it has few values; else -1.
int class_column(const CsvTable& table, const TableReport& report, const ReportOptions& options) {
  if (options.labels.size() != 1) return -1;
  const auto found = std::ranges::find(table.names(), options.labels[0]);
  if (found == table.names().end()) return -1;
  const auto column = static_cast<size_t>(found - table.names().begin());
  const ColumnScan& scan = report.scan.columns[column];
  const bool few = !scan.values.is_full() && scan.values.size() <= 100;
  // Numbers that hardly come twice are amounts.
  const bool come_again = 2 * static_cast<int64_t>(scan.values.size()) <= scan.numbers;
  const bool has_classes = !scan.is_number() || (scan.whole == scan.numbers && come_again);
  return few && has_classes ? static_cast<int>(column) : -1;
}

// Finds the bad rows of a table, and what they have in common.
class BadRowSearch {
 public:
  BadRowSearch(CsvTable& table, const RowEncoder& encoder, const ReportOptions& options,
               TableReport& report)
      : table_(table), encoder_(encoder), options_(options), report_(report) {}

  // Whether the record is good.
  bool look_at(const CsvRecord& record) {
    swallowed_.merge({record, encoder_, table_.delimiter()}, table_.place(record).file);
    row_.resize(encoder_.words());
    const std::optional<RowProblem> problem =
        encoder_.encode(record, /*impute=*/false, row_, imputed_);
    if (!problem) return true;
    const int64_t rows = record.rows();
    if (!encoder_.encode(record, /*impute=*/true, row_, imputed_)) report_.imputable += rows;
    report_.scan.records += rows - 1;
    const std::string column =
        problem->column < 0 ? "" : table_.names()[static_cast<size_t>(problem->column)];
    const std::string position = fmt::format("line {}", record.line);
    report_.bad_rows += rows;
    if (report_.listed.size() < options_.most_listed) {
      report_.listed.push_back({.file = table_.file_name(),
                                .position = position,
                                .column = column,
                                .value = problem->value,
                                .problem = problem->expected,
                                .record = std::string(record.text.substr(0, 200))});
    }
    count(column, *problem, position, rows);
    if (record.cells.size() != table_.names().size()) ++cell_counts_[record.cells.size()];
    not_utf8_ += problem->column >= 0 && !is_utf8(problem->value) ? 1 : 0;
    return false;
  }

  // What many of them say together.
  void finish() {
    std::ranges::stable_sort(report_.kinds, std::greater(), &BadRowKind::rows);
    if (swallowed_.any()) {
      (swallowed_.is_sure() ? report_.wrong : report_.notes)
          .push_back(swallowed_.text(table_.file_name(static_cast<int>(swallowed_.file()))));
    }
    const auto most =
        std::ranges::max_element(cell_counts_, {}, [](const auto& item) { return item.second; });
    if (most != cell_counts_.end() && 2 * most->second > report_.scan.records) {
      report_.wrong.push_back(fmt::format(
          "{} of {} rows have {} cells, but the first line has {}: if that is a title or a "
          "comment, delete it; if it is the header, give every column a name",
          most->second, report_.scan.records, most->first, table_.names().size()));
    }
    if (not_utf8_ > 0) {
      report_.wrong.push_back(fmt::format(
          "{} text that is no UTF-8, as Excel and older programs save it; convert the file: iconv "
          "-f WINDOWS-1252 -t UTF-8 OLD > NEW",
          not_utf8_ == 1 ? "1 row holds" : fmt::format("{} rows hold", not_utf8_)));
    }
  }

 private:
  void count(const std::string& column, const RowProblem& problem, const std::string& position,
             int64_t rows) {
    constexpr size_t kMostKinds = 20, kMostValues = 3;
    // What follows a comma is about the value.
    const std::string key = column + '\n' + problem.expected.substr(0, problem.expected.find(", "));
    auto found = kinds_.find(key);
    if (found == kinds_.end()) {
      if (report_.kinds.size() == kMostKinds) return;
      found = kinds_.emplace(key, report_.kinds.size()).first;
      report_.kinds.push_back(
          {.column = column, .problem = problem.expected, .values = {}, .first = position});
    }
    BadRowKind& kind = report_.kinds[found->second];
    kind.rows += rows;
    const bool is_new = std::ranges::count(kind.values, problem.value) == 0;
    if (is_new && kind.values.size() < kMostValues)
      kind.values.push_back(problem.value.substr(0, BadRow::kMostText));
  }

  CsvTable& table_;
  const RowEncoder& encoder_;
  const ReportOptions& options_;
  TableReport& report_;
  SwallowedRows swallowed_;
  std::vector<uint32_t> row_;
  std::map<std::string, size_t> kinds_;  // By column and problem.
  std::map<size_t, int64_t> cell_counts_;
  int64_t imputed_ = 0, not_utf8_ = 0;
};

// Texts that are taken for missing values, and where they stand.
class MissingMarks {
 public:
  explicit MissingMarks(const std::vector<std::string>& names) : names_(names) {}

  void look_at(const CsvRecord& record) {
    for (size_t i = 0; i < std::min(record.cells.size(), names_.size()); ++i) {
      const std::string_view cell = record.cells[i];
      if (!cell.empty() && is_missing(cell)) ++counts_[std::string(cell)][i];
    }
  }

  std::vector<std::string> notes() const {
    std::vector<std::string> notes;
    for (const auto& [mark, columns] : counts_) {
      constexpr int kMostNamed = 5;
      std::string list;
      int64_t cells = 0;
      int named = 0;
      for (const auto& [column, count] : columns) {
        cells += count;
        if (named++ < kMostNamed) list += (list.empty() ? "" : ", ") + names_[column];
      }
      notes.push_back(fmt::format("{} is taken for a missing value: {} of {}{}", in_quotes(mark),
                                  cells == 1 ? "one cell" : fmt::format("{} cells", cells), list,
                                  named > kMostNamed ? ", ..." : ""));
    }
    return notes;
  }

 private:
  const std::vector<std::string>& names_;
  std::map<std::string, std::map<size_t, int64_t>> counts_;
};

// What is odd about the table as a whole.
void find_odd_shape(const CsvTable& table, TableReport& report) {
  if (const std::string why = table.why_a_row(); !why.empty()) {
    report.notes.push_back(
        fmt::format("the first line is taken for a row, because {}: the columns are called 0, 1, "
                    "...; if it is a header, say so in a run file: data: {{header: true}}",
                    why));
  }
  const ColumnScan& only = report.scan.columns[0];
  if (report.scan.columns.size() > 1 || only.is_number()) return;
  if (only.cells != report.scan.records) return;  // Others have more, which is said by itself.
  if (only.first_text.find_first_of(" :\t") == std::string::npos) return;
  report.wrong.push_back(
      fmt::format("every row is one cell, such as {}: no comma, tab, semicolon or bar divides it; "
                  "if something else does, say so in a run file: data: {{delimiter: \" \"}}; texts "
                  "are checked with --text",
                  in_quotes(only.first_text)));
}

}  // namespace

std::string BadRowKind::text() const {
  if (column.empty()) return problem;
  std::string list;
  for (const std::string& value : values)
    list += fmt::format("{}{}", list.empty() ? "" : " or ", in_quotes(value));
  return fmt::format("column {} is {}, but {}", column, list, problem);
}

std::string_view kind_of(const ColumnScan& column) {
  if (column.present() == 0) return "empty";
  if (column.is_number()) return "number";
  return column.values.is_full() ? "text" : "category";
}

TableReport report_on(CsvTable& table, const ReportOptions& options) {
  TableReport report{.scan = scan_table(table, {.hashes = true, .labels = options.labels})};
  find_doubts(options, report);
  find_useless_columns(report);
  if (report.scan.records == 0) {
    report.wrong.emplace_back("there is a header, but no row follows it");
    return report;
  }
  find_odd_shape(table, report);
  const RowEncoder encoder(columns_for(table, report, options));
  const int label = class_column(table, report, options);
  ClassSides classes(options.tail);
  const auto head =
      static_cast<int64_t>(static_cast<double>(report.scan.records) * (1 - options.tail));
  BadRowSearch search(table, encoder, options, report);
  MissingMarks marks(table.names());
  CsvRecord record;
  table.restart();
  for (int64_t number = 0; table.next(record); ++number) {
    marks.look_at(record);
    if (search.look_at(record) && label >= 0)
      classes.add(record.cells[static_cast<size_t>(label)], number >= head);
  }
  search.finish();
  std::ranges::move(marks.notes(), std::back_inserter(report.notes));
  // Of a class that is written in several ways this is all that need be said.
  std::set<std::string> doubtful;
  if (label >= 0) {
    for (const auto& words : ways_of_writing(report.scan.columns[static_cast<size_t>(label)]))
      doubtful.insert(words.begin(), words.end());
  }
  std::ranges::move(classes.problems(doubtful), std::back_inserter(report.wrong));
  return report;
}

}  // namespace snug

#include "snug/data/table_report.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "snug/data/class_sides.h"
#include "snug/data/column_doubts.h"
#include "snug/data/csv.h"
#include "snug/data/csv_cell.h"
#include "snug/data/row_encoder.h"

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
    }
  }
}

void find_useless_columns(TableReport& report) {
  std::map<uint64_t, std::string_view> seen;
  for (const ColumnScan& column : report.scan.columns) {
    if (column.cells == 0) continue;
    const bool constant = !column.values.is_full() && column.values.size() == 1;
    if (column.present() == 0) {
      report.notes.push_back(fmt::format("column {} is empty; it will be dropped", column.name));
    } else if (constant && column.missing == 0) {
      report.notes.push_back(fmt::format("column {} is always {}; it teaches nothing", column.name,
                                         in_quotes(column.values.sorted()[0])));
    } else if (const auto [other, is_new] = seen.emplace(column.hash, column.name); !is_new) {
      report.notes.push_back(
          fmt::format("column {} is the same as column {}", column.name, other->second));
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
Columns columns_for(CsvTable& table, const TableReport& report, const ReportOptions& options) {
  if (options.like != nullptr) return data::columns_like(*options.like, table);
  ColumnWishes wishes{.labels = options.labels};
  data::check_header(table, wishes);
  // A column that cannot be learned from is no reason to look no further.
  for (const ColumnScan& column : report.scan.columns) {
    if (column.present() == 0) wishes.settings[column.name].use = ColumnUse::drop;
  }
  return choose_columns(report.scan.columns, wishes, table.paths()[0].string());
}

// The column whose classes are counted: the one label, where it has few values; else -1.
int class_column(const CsvTable& table, const TableReport& report, const ReportOptions& options) {
  if (options.labels.size() != 1) return -1;
  const auto found = std::ranges::find(table.names(), options.labels[0]);
  if (found == table.names().end()) return -1;
  const auto column = static_cast<size_t>(found - table.names().begin());
  const ColumnScan& scan = report.scan.columns[column];
  const bool few = !scan.values.is_full() && scan.values.size() <= 100;
  const bool has_classes = !scan.is_number() || scan.whole == scan.numbers;
  return few && has_classes ? static_cast<int>(column) : -1;
}

}  // namespace

std::string_view kind_of(const ColumnScan& column) {
  if (column.present() == 0) return "empty";
  if (column.is_number()) return "number";
  return column.values.is_full() ? "text" : "category";
}

TableReport report_on(CsvTable& table, const ReportOptions& options) {
  TableReport report{.scan = scan_table(table, {.hashes = true})};
  find_doubts(options, report);
  find_useless_columns(report);
  if (report.scan.records == 0) {
    report.wrong.emplace_back("there is a header, but no row follows it");
    return report;
  }
  RowEncoder encoder(columns_for(table, report, options));
  const int label = class_column(table, report, options);
  ClassSides classes(options.tail);
  const auto head =
      static_cast<int64_t>(static_cast<double>(report.scan.records) * (1 - options.tail));
  std::vector<uint32_t> row(encoder.words());
  CsvRecord record;
  int64_t imputed = 0;
  table.restart();
  for (int64_t number = 0; table.next(record); ++number) {
    if (const auto problem = encoder.encode(record, /*impute=*/false, row, imputed)) {
      if (report.bad_rows++ < static_cast<int64_t>(options.most_listed)) {
        report.listed.push_back(
            {.file = table.file_name(),
             .position = fmt::format("line {}", record.line),
             .column =
                 problem->column < 0 ? "" : table.names()[static_cast<size_t>(problem->column)],
             .value = problem->value,
             .problem = problem->expected,
             .record = std::string(record.text.substr(0, 200))});
      }
      continue;
    }
    if (label >= 0) classes.add(record.cells[static_cast<size_t>(label)], number >= head);
  }
  std::ranges::move(classes.problems(), std::back_inserter(report.wrong));
  return report;
}

}  // namespace snug

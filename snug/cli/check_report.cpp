#include "snug/cli/check_report.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "snug/cli/json_text.h"

namespace snug::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 3> kRoles = {"input", "target", "weight"};

void print_json(Json json, int exit) {
  Json all = {{"command", "check"}, {"exit", exit}};
  all.update(json);
  fmt::print("{}\n", json_text(all));
}

Json json_of(const std::vector<BadRow>& listed) {
  Json bad = Json::array();
  for (const BadRow& row : listed)
    bad.push_back({{"file", row.file}, {"position", row.position}, {"problem", row.problem}});
  return bad;
}

Json json_of(const FieldReport& field) {
  Json json = {{"name", field.field.name},
               {"role", kRoles[static_cast<size_t>(field.field.role)]},
               {"row", field.field.row.text()},
               {"type", name_of(field.field.stored)}};
  if (field.numbers > 0)
    json.update({{"min", field.min}, {"max", field.max}, {"mean", field.mean()}});
  if (!field.classes.empty()) json["classes"] = field.classes;
  return json;
}

Json json_of(const NamedReport& named) {
  const SourceReport& report = named.report;
  Json fields = Json::array();
  for (const FieldReport& field : report.fields) fields.push_back(json_of(field));
  return {{"name", named.name},
          {"rows", report.rows},
          {"fields", fields},
          {"bad_rows", report.bad_rows},
          {"listed", json_of(report.listed)},
          {"wrong", report.wrong}};
}

// "a (12), b (30)", the first of them.
std::string counts_text(const std::map<std::string, int64_t>& counts) {
  constexpr size_t kMost = 20;
  std::string text;
  size_t listed = 0;
  std::vector<std::pair<std::string, int64_t>> sorted(counts.begin(), counts.end());
  const auto is_number = [](const auto& item) {
    return item.first.find_first_not_of("0123456789") == std::string::npos;
  };
  if (std::ranges::all_of(sorted, is_number))
    std::ranges::stable_sort(sorted, {}, [](const auto& item) { return item.first.size(); });
  for (const auto& [name, count] : sorted) {
    if (listed++ == kMost) return text + ", ...";
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", name, count);
  }
  return text;
}

// "float32[28, 28]", "int64".
std::string type_text(const Field& field) {
  const std::string name(name_of(field.stored));
  return field.row.rank() == 0 ? name : name + field.row.text();
}

void print_lines(std::string_view title, const std::vector<std::string>& lines) {
  if (!lines.empty()) fmt::print("\n{}:\n", title);
  for (const std::string& line : lines) fmt::print("  {}\n", line);
}

// Without what each of them begins with: the one name that stands above.
void print_bad_rows(int64_t count, int64_t rows, const std::vector<BadRow>& listed,
                    const std::string& name) {
  if (count > 0) fmt::print("\nBad rows: {} of {}\n", count, rows);
  for (const BadRow& row : listed) {
    const std::string place = row.file == name && !row.position.empty() ? row.position
                              : row.position.empty()                    ? row.file
                                                     : row.file + ": " + row.position;
    const bool goes_on = row.problem.starts_with("is ") || row.problem.starts_with("has ");
    fmt::print("  {}{} {}\n", place, goes_on ? "" : ":", row.problem);
  }
  if (count > std::ssize(listed)) fmt::print("  ... and {} more\n", count - std::ssize(listed));
}

void print_report(const NamedReport& named) {
  const SourceReport& report = named.report;
  fmt::print("{}: {}", named.name, count_text(report.rows, "row"));
  if (report.fields.size() == 1) {
    const Field& field = report.fields[0].field;
    fmt::print(" of {}", type_text(field));
  }
  fmt::print("\n");
  for (const FieldReport& field : report.fields) {
    if (report.fields.size() > 1) {
      fmt::print("  {}, {}: ", field.field.name, type_text(field.field));
    } else {
      fmt::print("  ");
    }
    if (field.numbers > 0) fmt::print("{}", range_text(field.min, field.max, field.mean()));
    fmt::print("\n");
    if (!field.classes.empty()) fmt::print("  classes: {}\n", counts_text(field.classes));
  }
  print_bad_rows(report.bad_rows, report.rows, report.listed, named.name);
  print_lines("To mend", report.wrong);
}

std::string number_text(double number) {
  constexpr double kMost = 1e9;
  return number == std::floor(number) && std::abs(number) < kMost ? fmt::format("{:.0f}", number)
                                                                  : fmt::format("{:.6g}", number);
}

}  // namespace

std::string count_text(int64_t count, std::string_view what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

std::string range_text(double min, double max, double mean) {
  return fmt::format("{} to {}, mean {:.6g}", number_text(min), number_text(max), mean);
}

std::string way_out(int64_t bad_rows, int64_t rows, bool imputable) {
  const double most = BadRowOptions().most;
  if (static_cast<double>(bad_rows) > most * static_cast<double>(rows)) {
    return fmt::format(
        "mend the rows; they are too many to be left out (bad_rows_at_most is {:g} % if not given)",
        100 * most);
  }
  std::string text = "mend the rows, or let a run leave them out: data: {on_bad_row: quarantine}";
  if (imputable) text += ", or take these cells for missing ones: data: {on_bad_row: impute}";
  return text;
}

int print_arrays(const Arguments& arguments, const std::vector<NamedReport>& reports,
                 const std::vector<std::string>& notes) {
  const bool clean = std::ranges::all_of(
      reports, [](const NamedReport& named) { return named.report.is_clean(); });
  const int exit = clean && !reports.empty() ? 0 : kBadData;
  if (arguments.json) {
    Json arrays = Json::array();
    int64_t bad_rows = 0;
    for (const NamedReport& named : reports) {
      arrays.push_back(json_of(named));
      bad_rows += named.report.bad_rows;
    }
    print_json({{"arrays", arrays}, {"bad_rows", bad_rows}, {"notes", notes}}, exit);
    return exit;
  }
  for (const NamedReport& named : reports) {
    if (&named != reports.data()) fmt::print("\n");
    print_report(named);
  }
  print_lines("To know", notes);
  if (reports.empty())
    fmt::print("{}: there is nothing that can be trained on\n", arguments.run_file);
  if (exit == 0) fmt::print("\nNothing is wrong.\n");
  const auto share = [](const NamedReport& named) {
    const auto rows = static_cast<double>(std::max<int64_t>(1, named.report.rows));
    return static_cast<double>(named.report.bad_rows) / rows;
  };
  const auto worst = std::ranges::max_element(reports, {}, share);
  if (worst != reports.end() && worst->report.bad_rows > 0)
    fmt::print("\nNext: {}\n", way_out(worst->report.bad_rows, worst->report.rows));
  return exit;
}

int print_texts(const Arguments& arguments, const TextReport& report) {
  const int exit = report.is_clean() ? 0 : kBadData;
  if (arguments.json) {
    print_json({{"texts", report.texts},
                {"words", report.words},
                {"different_words", report.different_words},
                {"longest", report.longest},
                {"median", report.median},
                {"nine_of_ten", report.most},
                {"classes", report.classes},
                {"bad_rows", report.bad_rows},
                {"listed", json_of(report.listed)},
                {"wrong", report.wrong},
                {"notes", report.notes}},
               exit);
    return exit;
  }
  fmt::print("{}: {} texts, {} words, {}{} different ones\n", arguments.run_file, report.texts,
             report.words, report.has_more ? "more than " : "", report.different_words);
  if (report.words > 0) {
    fmt::print(
        "  half of the texts have at most {} words, nine of ten at most {}: choose "
        "sequence_length by that\n  the longest has {}: {}\n",
        report.median, report.most, report.longest, report.longest_place);
  }
  if (!report.classes.empty()) fmt::print("  classes: {}\n", counts_text(report.classes));
  print_bad_rows(report.bad_rows, report.texts, report.listed, arguments.run_file);
  print_lines("To mend", report.wrong);
  print_lines("To know", report.notes);
  if (exit == 0) fmt::print("\nNothing is wrong.\n");
  return exit;
}

}  // namespace snug::cli

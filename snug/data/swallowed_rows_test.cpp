#include "snug/data/swallowed_rows.h"

#include <gtest/gtest.h>

#include "snug/data/source_testing.h"
#include "snug/data/table_report.h"
#include "snug/testing/csv_file.h"
#include "snug/testing/warnings.h"

namespace snug::testing {
namespace {

constexpr std::string_view kDoubt = "is its closing quote missing?";

// `count` rows `i % 7,u,i % 2`; before the text of some rows there is a quote that nothing closes.
std::string with_quotes(int count, const std::vector<int>& quoted) {
  std::string text = "a,w,y\n";
  for (int i = 0; i < count; ++i) {
    const bool quote = std::ranges::count(quoted, i) > 0;
    text += fmt::format("{},{}u,{}\n", i % 7, quote ? "\"" : "", i % 2);
  }
  return text;
}

// What `snug check` finds wrong, and what it notes.
struct Found {
  std::string wrong, notes;
  int64_t bad_rows = 0;
};

Found found_in(std::string_view text, const std::string& label) {
  CsvFile file(text);
  CsvTable table(file.files, {.files = {"t.csv"}, .header = {}});
  const TableReport report = report_on(table, {.labels = {label}});
  Found found{.wrong = {}, .notes = {}, .bad_rows = report.bad_rows};
  for (const std::string& line : report.wrong) found.wrong += line + "\n";
  for (const std::string& line : report.notes) found.notes += line + "\n";
  return found;
}

void expect_no_doubt(std::string_view text, const std::string& label) {
  const Found found = found_in(text, label);
  EXPECT_EQ(found.wrong.find(kDoubt), std::string::npos) << found.wrong;
  EXPECT_EQ(found.notes.find(kDoubt), std::string::npos) << found.notes;
  EXPECT_EQ(found.bad_rows, 0);
  CsvFile file(text);
  const Warnings warnings;
  data::csv(file.options({label}));
  EXPECT_EQ(warnings.text().find(kDoubt), std::string::npos) << warnings.text();
}

// `rows` rows in which `cell` is the text of many lines.
std::string with_cells(std::string_view header, std::string_view format, std::string_view cell,
                       int rows = 40) {
  std::string text = fmt::format("{}\n", header);
  for (int i = 0; i < rows; ++i)
    text += fmt::format(fmt::runtime(format), fmt::arg("cell", cell), fmt::arg("number", i % 7),
                        fmt::arg("label", i % 2)) +
            "\n";
  return text;
}

std::string lines_of(std::string_view line, int count) {
  std::string lines;
  for (int i = 0; i < count; ++i) lines += fmt::format("{}{}", i == 0 ? "" : "\n", line);
  return lines;
}

// They are found when a part of the file has been written already; a thread reads 2 MiB at once.
// The name need not be UTF-8.
TEST(SwallowedRows, AreToldWhereRowsArePackedIntoAFileAndReadAgain) {
  for (const std::string& name : {std::string(100, 't') + ".csv", std::string("t \xff\".csv")}) {
    MemoryFiles files;
    write_text(files, name, with_quotes(400000, {399000, 399100}));
    const data::CsvOptions options{.files = {name},
                                   .wishes = {.labels = {"y"}},
                                   .cache = "cache",
                                   .most_in_memory = 1000,
                                   .file_system = &files,
                                   .threads = 1};
    for (const char* how : {"written", "read again"}) {
      const Warnings warnings;
      EXPECT_EQ(data::csv(options).source->rows(), 399900) << how;
      EXPECT_EQ(warnings.text(), name +
                                     ": line 399002: the quoted cell runs on for 101 lines; is its "
                                     "closing quote missing? Mend the line\n")
          << how;
      EXPECT_EQ(files.list("cache").size(), 1u);
    }
  }
}

TEST(SwallowedRows, AreToldOfTheFileThatHasThem) {
  MemoryFiles files;
  write_text(files, "a.csv", with_quotes(100, {}));
  write_text(files, "b.csv", with_quotes(100, {20, 40, 50, 70}));
  const Warnings warnings;
  data::csv({.files = {"a.csv", "b.csv"}, .wishes = {.labels = {"y"}}, .file_system = &files});
  expect_within(warnings.text(),
                "b.csv: line 22: the quoted cell runs on for 21 lines, and 1 more cell is like it");
}

TEST(SwallowedRows, TextsOfManyLinesAreNone) {
  const std::string prose = lines_of("it was good, all in all", 14);
  expect_no_doubt(with_cells("review,label", "\"{cell}\",{label}", prose), "label");
  expect_no_doubt(with_cells("label,review", "{label},\"{cell}\"", prose), "label");
  expect_no_doubt(with_cells("id,review,label", "{number},\"{cell}\",{label}",
                             lines_of("so, I thought, it was good", 14)),
                  "label");
  std::string words = "review,tone\n";
  for (int i = 0; i < 40; ++i)
    words += fmt::format("\"{}\",{}\n", prose, i % 2 == 0 ? "glad" : "sad");
  expect_no_doubt(words, "tone");
}

TEST(SwallowedRows, JsonInACellIsNone) {
  const std::string json =
      "{\n" + lines_of("  \"\"key\"\": 1,", 14) + "\n  \"\"last\"\": [1, 2]\n}";
  expect_no_doubt(with_cells("payload,label", "\"{cell}\",{label}", json), "label");
  expect_no_doubt(with_cells("a,payload,label", "{number},\"{cell}\",{label}", json), "label");
}

// Also where it has as many columns as the table around it.
TEST(SwallowedRows, ATableInACellIsNone) {
  const std::string table = lines_of("3,4", 14);
  expect_no_doubt(with_cells("points,label", "\"{cell}\",{label}", table), "label");
  expect_no_doubt(with_cells("label,points", "{label},\"{cell}\"", table), "label");
  expect_no_doubt(with_cells("a,points,label", "{number},\"{cell}\",{label}", "\n" + table + "\n"),
                  "label");
}

// Nothing tells such a cell from rows, but its quote is closed as it should be: no reason to fail.
TEST(SwallowedRows, ACellThatIsAlsoWellFormedIsANote) {
  const std::string table = "number of points\n" + lines_of("3,four", 14);
  const Found found = found_in(with_cells("label,text", "{label},\"{cell}\"", table), "label");
  EXPECT_EQ(found.wrong.find(kDoubt), std::string::npos) << found.wrong;
  expect_within(found.notes, "t.csv: line 2: the quoted cell runs on for 15 lines");
}

TEST(SwallowedRows, AreFoundInEveryForm) {
  const std::string plain = with_quotes(100, {40, 60});
  std::string crlf, tabs, mac;
  for (const char c : plain) {
    crlf += c == '\n' ? "\r\n" : std::string(1, c);
    tabs += c == ',' ? '\t' : c;
    mac += c == '\n' ? '\r' : c;
  }
  for (const std::string& text : {plain, crlf, tabs, mac}) {
    const Found found = found_in(text, "y");
    expect_within(found.wrong, "t.csv: line 42: the quoted cell runs on for 21 lines; is its");
    EXPECT_EQ(found.bad_rows, 0);
  }
}

// The text was in quotes since it has a comma.
TEST(SwallowedRows, AreFoundBehindATextWithDelimiters) {
  std::string text = "a,w,y\n";
  for (int i = 0; i < 100; ++i)
    text += fmt::format("{},{},{}\n", i % 7,
                        i == 40   ? "\"u, v"
                        : i == 60 ? "\"u, v\""
                                  : "u",
                        i % 2);
  expect_within(found_in(text, "y").wrong, "t.csv: line 42: the quoted cell runs on for 21 lines");
}

TEST(SwallowedRows, OfTwoColumnsAreFoundByTheirNumbersAndClasses) {
  const auto table = [](std::string_view header, auto label) {
    std::string text = fmt::format("{}\n", header);
    for (int i = 0; i < 200; ++i)
      text += fmt::format("{}text {},{}\n", i == 40 || i == 60 ? "\"" : "", i % 20, label(i));
    return text;
  };
  const std::string numbers = table("w,y", [](int i) { return i % 2; });
  const std::string classes = table("w,y", [](int i) { return i % 2 == 0 ? "yes" : "no"; });
  for (const std::string& text : {numbers, classes})
    expect_within(found_in(text, "y").wrong, "line 42: the quoted cell runs on for 21 lines");
}

// Of many columns their number says enough.
TEST(SwallowedRows, OfManyColumnsOfTextAreFound) {
  std::string text = "a,b,c,d,e\n";
  for (int i = 0; i < 400; ++i)
    text += fmt::format("a{0},b{0},{1}c{0},d{0},e{0}\n", i, i == 40 || i == 60 ? "\"" : "");
  CsvFile file(text);
  CsvTable table(file.files, {.files = {"t.csv"}, .header = {}});
  const TableReport report = report_on(table, {});
  ASSERT_FALSE(report.wrong.empty());
  expect_within(report.wrong.back(), "line 42: the quoted cell runs on for 21 lines");
}

// A bad record of many lines is one row.
TEST(SwallowedRows, ABadRowWithALongTextCountsOnce) {
  std::string text = "a,payload,y\n";
  for (int i = 0; i < 300; ++i)
    text +=
        fmt::format("{},\"{{\n{}\n}}\",{}\n", i % 7, lines_of("\"\"x\"\": 1, \"\"y\"\": 2,", 12),
                    i % 100 == 5 ? ""
                    : i % 2 == 0 ? "1"
                                 : "0");
  CsvFile file(text);
  data::CsvOptions options = file.options({"y"});
  options.bad_rows.policy = BadRowPolicy::skip;
  const data::CsvData data = data::csv(options);
  EXPECT_EQ(data.bad_rows, 3);
  EXPECT_EQ(data.source->rows(), 297);
  EXPECT_EQ(found_in(text, "y").bad_rows, 3);
}

}  // namespace
}  // namespace snug::testing

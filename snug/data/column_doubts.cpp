#include "snug/data/column_doubts.h"

#include <fmt/format.h>

#include <cctype>
#include <map>

#include "snug/data/csv_cell.h"

namespace snug {
namespace {

// Capitals, blanks, hyphens, underscores and a point at the end do not count.
std::string bare_word(std::string_view word) {
  std::string bare;
  for (const char c : word) {
    if (c == ' ' || c == '-' || c == '_') continue;
    bare += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  while (bare.size() > 1 && bare.back() == '.') bare.pop_back();
  return bare;
}

std::string times(int64_t count) { return count == 1 ? "once" : fmt::format("{} times", count); }

}  // namespace

std::vector<std::string> words_written_twice(const ColumnScan& column) {
  std::vector<std::string> doubts;
  if (column.is_number() || column.values.is_full()) return doubts;
  std::map<std::string, std::string> seen;
  for (const std::string& word : column.values.sorted()) {
    const auto [other, is_new] = seen.emplace(bare_word(word), word);
    if (is_new) continue;
    doubts.push_back(fmt::format(
        "column {}: {} ({}) and {} ({}) look like one category written in two ways; write it one "
        "way everywhere",
        column.name, in_quotes(other->second), times(column.values.count(other->second)),
        in_quotes(word), times(column.values.count(word))));
  }
  return doubts;
}

std::optional<std::string> doubt_of_id(const ColumnScan& column) {
  constexpr int64_t kLeastRows = 100;
  if (!column.all_different || column.cells < kLeastRows) return std::nullopt;
  return fmt::format(
      "column {} has a whole number of its own in every row, as an id has; if it is one, leave it "
      "out: columns: {{{}: drop}}",
      column.name, column.name);
}

bool is_index_of_pandas(const ColumnScan& column) {
  return column.all_different && (column.name == "column 0" || column.name == "Unnamed: 0");
}

}  // namespace snug

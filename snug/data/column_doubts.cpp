#include "snug/data/column_doubts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <map>

#include "snug/data/csv_cell.h"
#include "snug/data/csv_reader.h"

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

// "12 kg", "$1,200", "7%", "1,5": a number with something before it, behind it or within.
struct WrittenNumber {
  std::string_view before, behind;
};

std::optional<WrittenNumber> written_number(std::string_view word) {
  constexpr std::string_view kDigits = "0123456789";
  constexpr size_t kLongestUnit = 8;
  constexpr std::array<std::string_view, 6> kSigns = {"", "$", "\u20ac", "\u00a3", "\u00a5", "+"};
  const size_t first = word.find_first_of(kDigits), last = word.find_last_of(kDigits);
  if (first == std::string_view::npos) return std::nullopt;
  const auto without_blanks = [](std::string_view text) {
    return trimmed_cell(text.data(), text.data() + text.size(), ',');
  };
  std::string_view before = without_blanks(word.substr(0, first));
  if (before.ends_with("-")) before.remove_suffix(1);
  const std::string_view number = word.substr(first, last - first + 1);
  const std::string_view behind = without_blanks(word.substr(last + 1));
  const bool is_plain = before.empty() && behind.empty() && number.find(',') == number.npos;
  if (is_plain || number.find_first_not_of("0123456789.,") != number.npos) return std::nullopt;
  if (behind.size() > kLongestUnit || std::ranges::count(kSigns, before) == 0) return std::nullopt;
  return WrittenNumber{before, behind};
}

// 2020-01-31, 31.1.2020, 1/31/20, with or without a time behind it.
bool is_date(std::string_view word) {
  std::array<std::string_view, 3> parts;
  size_t at = 0;
  for (size_t part = 0; part < parts.size(); ++part) {
    const size_t end = std::min(word.find_first_not_of("0123456789", at), word.size());
    parts[part] = word.substr(at, end - at);
    const bool divided = end < word.size() && std::string_view("-/.").find(word[end]) != word.npos;
    if (parts[part].empty() || (part < 2 && !divided)) return false;
    at = end + 1;
  }
  const auto has = [&](size_t part, size_t least, size_t most) {
    return parts[part].size() >= least && parts[part].size() <= most;
  };
  const bool ends = at > word.size() || word[at - 1] == ' ' || word[at - 1] == 'T';
  return ends && has(1, 1, 2) &&
         ((has(0, 4, 4) && has(2, 1, 2)) || (has(0, 1, 2) && (has(2, 4, 4) || has(2, 2, 2))));
}

// 99, -999, 99999, ...: what people write for "not known".
bool is_nines(double number) {
  constexpr double kMost = 1e9;
  double nines = 99;
  while (nines < std::abs(number) && nines < kMost) nines = 10 * nines + 9;
  return std::abs(number) == nines;
}

std::string times(int64_t count) { return count == 1 ? "once" : fmt::format("{} times", count); }

// Words that a person would take for the same, those of one together.
std::vector<std::vector<std::string>> alike(const std::vector<std::string>& words) {
  std::vector<std::vector<std::string>> groups;
  std::map<std::string, size_t> seen;
  for (const std::string& word : words) {
    const auto [group, is_new] = seen.emplace(bare_word(word), groups.size());
    if (is_new) groups.emplace_back();
    groups[group->second].push_back(word);
  }
  std::erase_if(groups, [](const auto& group) { return group.size() < 2; });
  return groups;
}

template <typename Count>
std::string one_of(const std::vector<std::string>& words, std::string_view what,
                   const Count& count) {
  constexpr size_t kMostWays = 5;
  std::string list;
  for (size_t i = 0; i < std::min(words.size(), kMostWays); ++i) {
    const bool last = i + 1 == std::min(words.size(), kMostWays);
    list += fmt::format("{}{} ({})", i == 0 ? "" : (last ? " and " : ", "), in_quotes(words[i]),
                        times(count(words[i])));
  }
  return fmt::format("{} look like one {} written in {} ways; write it one way everywhere", list,
                     what, words.size() == 2 ? "two" : std::to_string(words.size()));
}

}  // namespace

std::vector<std::vector<std::string>> ways_of_writing(const ColumnScan& column) {
  if (column.is_number() || column.values.is_full()) return {};
  return alike(column.values.sorted());
}

std::vector<std::string> words_written_twice(const ColumnScan& column) {
  std::vector<std::string> doubts;
  for (const std::vector<std::string>& words : ways_of_writing(column)) {
    const auto count = [&](const std::string& word) { return column.values.count(word); };
    doubts.push_back(fmt::format("column {}: {}", column.name, one_of(words, "category", count)));
  }
  return doubts;
}

std::vector<std::string> classes_written_twice(const std::map<std::string, int64_t>& counts) {
  std::vector<std::string> names, doubts;
  for (const auto& item : counts) names.push_back(item.first);
  for (const std::vector<std::string>& words : alike(names)) {
    const auto count = [&](const std::string& word) { return counts.at(word); };
    doubts.push_back("the labels " + one_of(words, "class", count));
  }
  return doubts;
}

std::optional<std::string> doubt_of_written_numbers(const ColumnScan& column) {
  constexpr size_t kLeastWords = 5;
  if (column.is_number() || column.present() == 0) return std::nullopt;
  const std::vector<std::string> words =
      column.values.is_full() ? std::vector{column.first_text} : column.values.sorted();
  if (!column.values.is_full() && words.size() < kLeastWords) return std::nullopt;
  const std::optional<WrittenNumber> first = written_number(words[0]);
  const bool alike =
      first && std::ranges::all_of(words, [&](const std::string& word) {
        const std::optional<WrittenNumber> other = written_number(word);
        return other && other->before == first->before && other->behind == first->behind;
      });
  if (!alike) return std::nullopt;
  return fmt::format(
      "column {}: its cells look like numbers that are written in another way, such as {}, so each "
      "is taken for a text; write them as plain numbers, such as 1234.5",
      column.name, in_quotes(words.back()));
}

std::optional<std::string> doubt_of_id(const ColumnScan& column) {
  constexpr int64_t kLeastRows = 100;
  if (!column.all_different || column.cells < kLeastRows) return std::nullopt;
  return fmt::format(
      "column {} has a whole number of its own in every row, as an id has; if it is one, leave it "
      "out: columns: {{{}: drop}}",
      column.name, yaml_key(column.name));
}

std::optional<std::string> doubt_of_dates(const ColumnScan& column) {
  constexpr size_t kLeastWords = 5;
  if (column.is_number() || column.present() == 0) return std::nullopt;
  const std::vector<std::string> words =
      column.values.is_full() ? std::vector{column.first_text} : column.values.sorted();
  if (!column.values.is_full() && words.size() < kLeastWords) return std::nullopt;
  if (!std::ranges::all_of(words, is_date)) return std::nullopt;
  return fmt::format(
      "column {}: its cells look like dates, such as {}, and each is taken for a text; write what "
      "matters of them as numbers: the year, the month, the days since some day",
      column.name, in_quotes(words.back()));
}

std::optional<std::string> doubt_of_mark(const ColumnScan& column) {
  constexpr size_t kLeastValues = 5;
  constexpr int64_t kLeastTimes = 3;
  if (!column.is_number() || column.values.is_full()) return std::nullopt;
  std::vector<std::pair<double, std::string>> values;
  for (const std::string& word : column.values.sorted()) {
    if (const std::optional<double> number = number_of(word)) values.emplace_back(*number, word);
  }
  if (values.size() < kLeastValues) return std::nullopt;
  std::ranges::stable_sort(values, {}, [](const auto& value) { return value.first; });
  const size_t last = values.size() - 1;
  for (const size_t at : {size_t{0}, last}) {
    const double low = values[at == 0 ? 1 : 0].first,
                 high = values[at == 0 ? last : last - 1].first;
    const double gap = at == 0 ? low - values[at].first : values[at].first - high;
    const int64_t count = column.values.count(values[at].second);
    if (!is_nines(values[at].first) || gap <= high - low || count < kLeastTimes) continue;
    return fmt::format(
        "column {} is {} {}, far from all others ({:g} to {:g}); if it stands for a missing value, "
        "leave these cells empty",
        column.name, values[at].second, times(count), low, high);
  }
  return std::nullopt;
}

bool is_index_of_pandas(const ColumnScan& column) {
  return column.all_different && (column.name == "column 0" || column.name == "Unnamed: 0");
}

}  // namespace snug

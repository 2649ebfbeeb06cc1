#include "snug/base/nearest_word.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

namespace snug {
namespace {

std::string plain(std::string_view word) {
  std::string letters;
  for (const char c : word) {
    if (c != '_') letters += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return letters;
}

// Row i of the table holds the mistakes between the first i letters of a and each start of b.
size_t mistakes(const std::string& a, const std::string& b) {
  std::vector<std::vector<size_t>> table(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) {
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        table[i][j] = i + j;
        continue;
      }
      const size_t changed = table[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      table[i][j] = std::min({table[i - 1][j] + 1, table[i][j - 1] + 1, changed});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        table[i][j] = std::min(table[i][j], table[i - 2][j - 2] + 1);
    }
  }
  return table[a.size()][b.size()];
}

// "units" in "hidden_units", "crossentropy" in "binary_crossentropy".
bool is_part(const std::string& a, const std::string& b) {
  constexpr size_t kLeast = 4;
  const std::string &shorter = a.size() < b.size() ? a : b, &longer = a.size() < b.size() ? b : a;
  return shorter.size() >= kLeast && longer.find(shorter) != std::string::npos;
}

bool is_near(const std::string& typed, const std::string& candidate) {
  const size_t letters = std::max(typed.size(), candidate.size());
  return mistakes(typed, candidate) <= std::max<size_t>(1, letters / 3) ||
         is_part(typed, candidate);
}

}  // namespace

bool same_word(std::string_view a, std::string_view b) { return plain(a) == plain(b); }

std::string_view nearest_word(std::string_view word, std::span<const std::string_view> words) {
  const std::string typed = plain(word);
  std::string_view nearest;
  size_t least = 0;
  for (const std::string_view candidate : words) {
    if (!is_near(typed, plain(candidate))) continue;
    const size_t count = mistakes(typed, plain(candidate));
    if (!nearest.empty() && count >= least) continue;
    nearest = candidate;
    least = count;
  }
  return nearest;
}

std::string did_you_mean(std::string_view word, std::span<const std::string_view> words,
                         std::string_view quote) {
  return suggested(nearest_word(word, words), words, quote);
}

std::string suggested(std::string_view nearest, std::span<const std::string_view> words,
                      std::string_view quote) {
  constexpr size_t kFew = 16;
  if (!nearest.empty()) return fmt::format("did you mean {0}{1}{0}?", quote, nearest);
  if (words.size() > kFew)
    return fmt::format("none of the {} that there are is like it (docs/run_file.md lists them)",
                       words.size());
  std::string all;
  for (const std::string_view word : words)
    all += fmt::format("{0}{1}{2}{1}", all.empty() ? "" : ", ", quote, word);
  return fmt::format("there {} {}", words.size() == 1 ? "is" : "are", all);
}

}  // namespace snug

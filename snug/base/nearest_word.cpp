#include "snug/base/nearest_word.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include "snug/base/error.h"

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

}  // namespace

bool same_word(std::string_view a, std::string_view b) { return plain(a) == plain(b); }

std::string_view nearest_word(std::string_view word, std::span<const std::string_view> words) {
  SNUG_CHECK(!words.empty(), "no words to choose from");
  return *std::ranges::min_element(words, {}, [typed = plain(word)](std::string_view candidate) {
    return mistakes(typed, plain(candidate));
  });
}

}  // namespace snug

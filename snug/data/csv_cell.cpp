#include "snug/data/csv_cell.h"

#include <fast_float/fast_float.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

namespace snug {
namespace {

// How many bytes follow the first one of a character; -1 for one that begins none.
int following_bytes(unsigned char first) {
  if (first < 0x80) return 0;
  if (first >= 0xc2 && first < 0xe0) return 1;
  if (first >= 0xe0 && first < 0xf0) return 2;
  return first >= 0xf0 && first < 0xf5 ? 3 : -1;
}

// Characters with more bytes than they need, surrogates, and those above U+10FFFF.
bool is_forbidden(unsigned char first, unsigned char second) {
  return (first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
         (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f);
}

// What quotes may leave around a number or a mark.
std::string_view without_blanks(std::string_view cell) {
  const size_t begin = cell.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return "";
  return cell.substr(begin, cell.find_last_not_of(" \t") + 1 - begin);
}

}  // namespace

bool is_missing(std::string_view cell) {
  cell = without_blanks(cell);
  constexpr std::array<std::string_view, 14> kWords = {"?",    "NA",   "N/A",  "n/a",  "NaN",
                                                       "nan",  "NAN",  "null", "NULL", "Null",
                                                       "None", "#N/A", "NaT",  "<NA>"};
  return cell.empty() || (cell.size() <= 4 && std::ranges::find(kWords, cell) != kWords.end());
}

std::optional<double> number_of(std::string_view cell) {
  cell = without_blanks(cell);
  if (cell.size() > 1 && cell[0] == '+' && cell[1] != '-') cell.remove_prefix(1);
  double value = 0;
  const char* end = cell.data() + cell.size();
  const auto [stop, error] = fast_float::from_chars(cell.data(), end, value);
  if (stop != end || cell.empty()) return std::nullopt;
  if (error == std::errc::result_out_of_range && value != 0) return HUGE_VAL;
  if (error != std::errc() && error != std::errc::result_out_of_range) return std::nullopt;
  return value;
}

bool is_utf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    const auto first = static_cast<unsigned char>(text[at]);
    const int following = following_bytes(first);
    if (following < 0 || at + static_cast<size_t>(following) >= text.size()) return false;
    for (int i = 1; i <= following; ++i) {
      const auto byte = static_cast<unsigned char>(text[at + static_cast<size_t>(i)]);
      if ((byte & 0xc0) != 0x80 || (i == 1 && is_forbidden(first, byte))) return false;
    }
    at += static_cast<size_t>(following) + 1;
  }
  return true;
}

namespace {

// Characters that nobody sees: blanks of other kinds, marks of direction and of byte order. The
// bytes of one at the start of a text; 0: there is none.
size_t hidden_bytes(std::string_view text) {
  constexpr std::array<std::string_view, 4> kHidden = {"\u00a0", "\u00ad", "\ufeff", "\u3000"};
  for (const std::string_view hidden : kHidden) {
    if (text.starts_with(hidden)) return hidden.size();
  }
  if (text.size() < 3 || !text.starts_with("\xe2\x80")) return 0;
  const auto last = static_cast<unsigned char>(text[2]);  // U+2000 to U+200F, U+202A to U+202F.
  return last <= 0x8f || (last >= 0xaa && last <= 0xaf) ? 3 : 0;
}

std::string escaped(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) text += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  return text;
}

}  // namespace

std::string in_quotes(std::string_view cell) {
  constexpr size_t kMost = 40;
  const bool readable = is_utf8(cell);
  size_t size = std::min(cell.size(), kMost);
  // Not in the middle of a character.
  while (readable && size < cell.size() && size > 0 && (cell[size] & 0xc0) == 0x80) --size;
  std::string text = "\"";
  for (size_t at = 0, count = 1; at < size; at += count) {
    const std::string_view rest = cell.substr(at, size - at);
    const auto byte = static_cast<unsigned char>(rest[0]);
    const size_t hidden = readable ? hidden_bytes(rest) : 0;
    count = std::max<size_t>(hidden, 1);
    const bool shown = hidden == 0 && byte >= 0x20 && byte != 0x7f && (byte < 0x80 || readable);
    text += shown ? std::string(1, rest[0]) : escaped(rest.substr(0, count));
  }
  return text + (size < cell.size() ? "...\"" : "\"");
}

std::string yaml_key(std::string_view name) {
  const auto is_plain = [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == ' ' || c >= 0x80;
  };
  if (!name.empty() && name.front() != ' ' && name.back() != ' ' &&
      std::ranges::all_of(name, is_plain))
    return std::string(name);
  std::string text = "\"";
  for (const char c : name) {
    if (c == '"' || c == '\\') text += '\\';
    const bool shown = static_cast<unsigned char>(c) >= 0x20 && c != 0x7f;
    text += shown ? std::string(1, c) : escaped({&c, 1});
  }
  return text + '"';
}

}  // namespace snug

#include "snug/base/proc.h"

#include <charconv>
#include <fstream>
#include <sstream>

namespace snug {
namespace {

std::optional<int64_t> number(std::string_view word) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(word.begin(), word.end(), value);
  // v1 prints "no limit" in pages; what does not fit is no limit either.
  if (error != std::errc() || end != word.end()) return std::nullopt;
  return value;
}

}  // namespace

std::vector<std::string> lines_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

std::vector<std::string> words_of(std::string_view line) {
  std::istringstream stream{std::string(line)};
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

std::optional<int64_t> number_after(const std::vector<std::string>& lines, std::string_view key) {
  for (const std::string& line : lines) {
    if (!line.starts_with(key)) continue;
    const std::vector<std::string> words = words_of(line);
    if (words.size() < 2 || words[0] != key) continue;
    const std::optional<int64_t> value = number(words[1]);
    const bool in_kilobytes = words.size() > 2 && words[2] == "kB";
    return value && in_kilobytes ? std::optional(*value * 1024) : value;
  }
  return std::nullopt;
}

std::optional<int64_t> number_in(const std::filesystem::path& path) {
  const std::vector<std::string> lines = lines_of(path);
  return lines.empty() ? std::nullopt : number(lines[0]);
}

}  // namespace snug

#include "snug/data/column_scan.h"

#include <algorithm>
#include <cmath>

#include "snug/base/random.h"
#include "snug/data/csv_cell.h"

namespace snug {

void Vocabulary::add(std::string_view word) {
  if (full_) return;
  if (const auto found = words_.find(word); found != words_.end()) {
    ++found->second;
    return;
  }
  bytes_ += word.size() + 64;  // With the map's own.
  if (words_.size() == kMostWords || bytes_ > most_bytes_) {
    full_ = true;
    words_ = {};
    return;
  }
  words_.emplace(word, 1);
}

std::vector<std::string> Vocabulary::sorted() const {
  std::vector<std::string> words;
  bool numbers = true;
  for (const auto& [word, count] : words_) {
    words.push_back(word);
    numbers &= number_of(word).has_value();
  }
  std::ranges::sort(words);
  if (numbers) {
    std::ranges::stable_sort(words, {}, [](const std::string& word) { return *number_of(word); });
  }
  return words;
}

int64_t Vocabulary::count(std::string_view word) const {
  const auto found = words_.find(word);
  return found == words_.end() ? 0 : found->second;
}

void ColumnScan::add(std::string_view cell, int64_t line) {
  ++cells;
  longest = std::max(longest, cell.size());
  hash = mix_bits(hash + std::hash<std::string_view>()(cell));
  if (is_missing(cell)) {
    ++missing;
    return;
  }
  values.add(cell);
  const std::optional<double> number = number_of(cell);
  if (!number) {
    if (first_text_line == 0) {
      first_text = cell.substr(0, 256);
      first_text_line = line;
    }
    return;
  }
  if (!std::isfinite(*number)) {
    ++not_finite;
    return;
  }
  if (numbers == 0) origin_ = min = max = *number;
  min = std::min(min, *number);
  max = std::max(max, *number);
  const double difference = *number - origin_;
  sum_ += difference;
  squares_ += difference * difference;
  whole += *number == std::floor(*number) ? 1 : 0;
  ++numbers;
}

double ColumnScan::mean() const {
  return numbers == 0 ? 0 : origin_ + sum_ / static_cast<double>(numbers);
}

double ColumnScan::deviation() const {
  if (numbers == 0) return 0;
  const auto count = static_cast<double>(numbers);
  return std::sqrt(std::max(0.0, squares_ / count - (sum_ / count) * (sum_ / count)));
}

}  // namespace snug

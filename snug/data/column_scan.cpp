#include "snug/data/column_scan.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "snug/base/random.h"
#include "snug/data/csv_cell.h"

namespace snug {

// Of a table with many columns each has little room.
Vocabulary::Vocabulary(size_t most_bytes)
    : most_bytes_(most_bytes), sample_(std::clamp<size_t>(most_bytes / 64, 4, 256)) {}

void Vocabulary::add(std::string_view word) {
  if (full_) return sample(word);
  if (word.size() > sizeof(uint64_t)) return add(word, 1);
  uint64_t bytes = 0;
  std::memcpy(&bytes, word.data(), word.size());
  if (recent_.empty()) recent_.resize(recents());
  Recent& recent = recent_[mix_bits(bytes) % recent_.size()];
  if (recent.count == nullptr || recent.bytes != bytes || recent.size != word.size()) {
    recent = {bytes, word.size(), count_of(word)};
    if (full_) return;
  }
  ++*recent.count;
}

// Of a table with many columns each has little room.
size_t Vocabulary::recents() const {
  constexpr size_t kOfAWord = 64;
  return std::bit_floor(std::clamp<size_t>(most_bytes_ / kOfAWord, 2, 256));
}

// A word's count, which is 0 for a new one; null when there is no room for it.
int64_t* Vocabulary::count_of(std::string_view word) {
  if (const auto found = words_.find(word); found != words_.end()) return &found->second;
  bytes_ += word.size() + 64;  // With the map's own.
  if (words_.size() == kMostWords || bytes_ > most_bytes_) {
    become_full();
    sample(word);
    return nullptr;
  }
  return &words_.emplace(word, 0).first->second;
}

void Vocabulary::add(std::string_view word, int64_t count) {
  if (full_) return sample(word);
  if (int64_t* known = count_of(word)) *known += count;
}

// Numbers are left out: columns of numbers, whose values nobody lists, need not be looked at.
void Vocabulary::sample(std::string_view word) {
  if (!number_of(word)) sample_.add(mix_bits(hash_text(word)));
}

void Vocabulary::become_full() {
  full_ = true;
  for (const auto& [word, count] : words_) sample(word);
  words_ = {};
  recent_ = {};
}

void Vocabulary::merge(const Vocabulary& other) {
  if (other.full_ && !full_) become_full();
  if (full_) sample_.merge(other.sample_);
  for (const auto& [word, count] : other.words_) add(word, count);
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
  double number = 0;
  if (add_other(cell, line, number) == CellKind::number) {
    add_sums({.numbers = 1,
              .whole = number == std::floor(number) ? 1 : 0,
              .origin = number,
              .min = number,
              .max = number});
    if (wants_sketch) sketch.add(number);
  }
  if (wants_hash) add_hash(cell, line);
}

CellKind ColumnScan::add_other(std::string_view cell, int64_t line, double& number) {
  if (is_missing(cell)) {
    ++missing;
    return CellKind::missing;
  }
  const std::optional<double> value = number_of(cell);
  // The square of one that is larger has no place in a sum: the deviation of all would be lost.
  constexpr double kMost = 1e150;
  if (value && std::abs(*value) <= kMost) {
    number = *value;
    return CellKind::number;
  }
  if (value) {
    ++not_finite;
    return CellKind::not_finite;
  }
  if (first_text_line == 0) {
    first_text = cell.substr(0, 256);
    first_text_line = line;
  }
  return CellKind::text;
}

void ColumnScan::add_hash(std::string_view cell, int64_t line) {
  hash += mix_bits(hash_text(cell) + mix_bits(static_cast<uint64_t>(line)));
}

void ColumnScan::restart() {
  cells = missing = numbers = not_finite = whole = first_text_line = 0;
  hash = 0;
  sketch = {};
  origin_ = sum_ = squares_ = 0;
}

void ColumnScan::merge(const ColumnScan& later) {
  cells += later.cells;
  missing += later.missing;
  not_finite += later.not_finite;
  hash += later.hash;
  if (wants_sketch) sketch.merge(later.sketch);
  if (first_text_line == 0 && later.first_text_line != 0) {
    first_text = later.first_text;
    first_text_line = later.first_text_line;
  }
  add_sums({.numbers = later.numbers,
            .whole = later.whole,
            .origin = later.origin_,
            .sum = later.sum_,
            .squares = later.squares_,
            .min = later.min,
            .max = later.max});
}

void ColumnScan::add_sums(const NumberSums& sums) {
  if (sums.numbers == 0) return;
  if (numbers == 0) {
    origin_ = sums.origin;
    min = sums.min;
    max = sums.max;
  }
  min = std::min(min, sums.min);
  max = std::max(max, sums.max);
  // Their differences, taken from this origin.
  const double shift = sums.origin - origin_;
  squares_ +=
      sums.squares + 2 * shift * sums.sum + shift * shift * static_cast<double>(sums.numbers);
  sum_ += sums.sum + shift * static_cast<double>(sums.numbers);
  whole += sums.whole;
  numbers += sums.numbers;
}

double ColumnScan::deviation() const {
  if (numbers == 0) return 0;
  const auto count = static_cast<double>(numbers);
  return std::sqrt(std::max(0.0, squares_ / count - (sum_ / count) * (sum_ / count)));
}

}  // namespace snug

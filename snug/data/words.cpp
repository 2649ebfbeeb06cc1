#include "snug/data/words.h"

#include <algorithm>

#include "snug/base/random.h"

namespace snug {
namespace {

bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
bool is_punctuation(char c) {
  return (c >= '!' && c <= '/') || (c >= ':' && c <= '@') || (c >= '[' && c <= '`') ||
         (c >= '{' && c <= '~');
}

}  // namespace

WordStream::WordStream(const WordOptions& options, OnWord on_word)
    : options_(options), on_word_(std::move(on_word)) {
  word_.reserve(kMostBytes);
}

void WordStream::add(std::string_view piece) {
  for (char c : piece) {
    if (is_blank(c)) {
      end();
      continue;
    }
    if (options_.strip_punctuation && is_punctuation(c)) continue;
    if (options_.lower && c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (word_.size() < kMostBytes) word_ += c;
  }
}

void WordStream::end() {
  if (!word_.empty()) on_word_(word_);
  word_.clear();
}

// What is forgotten comes back with the count that it may have had: frequent words lose nothing
// against one another.
void WordCounts::add(std::string_view word) {
  if (const auto found = counts_.find(word); found != counts_.end()) {
    ++found->second;
    return;
  }
  if (counts_.size() >= most_words_) {
    while (counts_.size() > most_words_ / 2) {
      ++forgotten_;
      std::erase_if(counts_, [&](const auto& item) { return item.second <= forgotten_; });
    }
  }
  counts_.emplace(word, forgotten_ + 1);
}

std::vector<std::string> WordCounts::most_frequent(size_t count) const {
  std::vector<std::pair<int64_t, std::string_view>> sorted;
  for (const auto& [word, times] : counts_) sorted.emplace_back(times, word);
  std::ranges::sort(sorted, std::greater());
  sorted.resize(std::min(count, sorted.size()));
  std::vector<std::string> words;
  for (const auto& [times, word] : sorted) words.emplace_back(word);
  return words;
}

WordIndex::WordIndex(std::vector<std::string> vocabulary) : vocabulary_(std::move(vocabulary)) {
  for (size_t i = 0; i < vocabulary_.size(); ++i)
    numbers_.emplace(vocabulary_[i], static_cast<int32_t>(i + 2));
}

int32_t WordIndex::number(std::string_view word) const {
  if (buckets_ > 0) {
    return static_cast<int32_t>(1 + mix_bits(hash_text(word)) %
                                        static_cast<uint64_t>(std::max<int64_t>(1, buckets_ - 1)));
  }
  const auto found = numbers_.find(word);
  return found == numbers_.end() ? 1 : found->second;
}

int64_t WordIndex::size() const { return buckets_ > 0 ? buckets_ : std::ssize(vocabulary_) + 2; }

}  // namespace snug

// Texts as words, and words as numbers: as Keras's TextVectorization has them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace snug {

struct WordOptions {
  bool lower = true;              // Letters of ASCII.
  bool strip_punctuation = true;  // !"#$%&()*+,-./:;<=>?@[\]^_`{|}~' are left out.
};

// Cuts a text that comes in pieces at blanks. Words of more than kMostBytes are cut off there.
class WordStream {
 public:
  static constexpr size_t kMostBytes = 256;
  using OnWord = std::function<void(std::string_view)>;

  WordStream(const WordOptions& options, OnWord on_word);
  void add(std::string_view piece);
  // The text has ended, and with it its last word.
  void end();

 private:
  WordOptions options_;
  OnWord on_word_;
  std::string word_;
};

// Counts words in bounded memory: where there are more than it keeps, the rarest are forgotten.
class WordCounts {
 public:
  explicit WordCounts(size_t most_words) : most_words_(most_words) {}
  void add(std::string_view word);
  // The most frequent ones, equal ones by their bytes, backwards, as Keras has it.
  std::vector<std::string> most_frequent(size_t count) const;
  // How many different words it keeps: all there were, unless some were forgotten.
  int64_t size() const { return std::ssize(counts_); }
  bool has_forgotten() const { return forgotten_ > 0; }

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  std::unordered_map<std::string, int64_t, Hash, std::equal_to<>> counts_;
  size_t most_words_;
  int64_t forgotten_ = 0;  // What a word that was forgotten was counted at most.
};

// Numbers of words: 0 stands for no word, 1 for one that is not in the list, the others from 2 on.
// Without a list, each word's number is a hash of it, from 1 to buckets - 1.
class WordIndex {
 public:
  explicit WordIndex(std::vector<std::string> vocabulary);
  explicit WordIndex(int64_t buckets) : buckets_(buckets) {}
  int32_t number(std::string_view word) const;
  // Above all numbers.
  int64_t size() const;
  const std::vector<std::string>& vocabulary() const { return vocabulary_; }

 private:
  std::vector<std::string> vocabulary_;
  std::unordered_map<std::string_view, int32_t> numbers_;
  int64_t buckets_ = 0;
};

}  // namespace snug

// Texts, one a line, plain or compressed, with the same file as labels: words that are learned,
// hashed, or known from before.

#include "snug/data/text.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/input_file.h"

namespace snug::fuzz {
namespace {

std::vector<int32_t> words_of(Source& source) {
  const int64_t rows = std::min<int64_t>(*source.rows(), 64);
  const int64_t width = source.fields()[0].row.size();
  std::vector<int64_t> numbers;
  for (int64_t row = rows - 1; row >= 0; --row) numbers.push_back(row);
  std::vector<int32_t> values(static_cast<size_t>(rows * width));
  source.read(0, numbers, {{DType::int32, {rows, width}}, values.data()});
  return values;
}

}  // namespace

void read_input(Input bytes) {
  InputFiles files(bytes);
  data::TextOptions options{.files = {"input"}, .labels = "input"};
  options.sequence_length = 8;
  options.file_system = &files;
  refused_or_read([&] { read_all(*data::text(options).source); });
  options.labels.clear();
  options.hash_buckets = 16;
  refused_or_read([&] { read_all(*data::text(options).source); });
  options.hash_buckets = 0;
  options.max_tokens = 50;
  const data::TextData learned = data::text(options);
  for (const int32_t word : words_of(*learned.source)) {
    SNUG_CHECK(word >= 0 && word < learned.tokens, "word {} of {}", word, learned.tokens);
  }
  options.vocabulary = &learned.vocabulary;
  const data::TextData again = data::text(options);
  SNUG_CHECK(words_of(*learned.source) == words_of(*again.source),
             "words learned and known differ");
}

}  // namespace snug::fuzz

#include "snug/data/text.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <optional>

#include "snug/base/bytes.h"
#include "snug/base/error.h"
#include "snug/base/random.h"
#include "snug/data/row_file.h"
#include "snug/data/text_lines.h"

namespace snug::data {
namespace {

constexpr int kVersion = 2;  // Of rows in the cache: another one when they are made otherwise.
constexpr size_t kMostClasses = 4096;
constexpr size_t kMostLabelBytes = size_t{64} << 10;

std::optional<int32_t> as_label(const std::string& text) {
  int32_t label = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), label);
  const bool whole = error == std::errc() && end == text.data() + text.size() && label >= 0;
  return whole ? std::optional(label) : std::nullopt;
}

// The number of a class of the training data.
int32_t known_label(const std::string& word, const std::string& where,
                    const std::vector<std::string>& known) {
  const auto found = std::ranges::find(known, word);
  if (found != known.end()) return static_cast<int32_t>(found - known.begin());
  throw DataError("{}: \"{}\" is no class of the training data, which has {}; mend the line", where,
                  word, fmt::join(known, ", "));
}

// A label a line. Words become numbers in their sorted order, or keep those that they have.
std::vector<int32_t> read_labels(const Path& path, FileSystem& files,
                                 const std::vector<std::string>& known,
                                 std::vector<std::string>& class_names) {
  std::vector<int32_t> places;  // In the order of first sight.
  std::map<std::string, int32_t> seen;
  std::string line;
  const auto where = [&] { return fmt::format("{}: line {}", path.string(), places.size() + 1); };
  LineReader(files, path, ZeroBytes::refused)
      .visit(
          [&](std::string_view piece) {
            line.append(piece);
            if (line.size() <= kMostLabelBytes) return;
            throw DataError("{} has more than {} bytes, but a label was expected", where(),
                            kMostLabelBytes);
          },
          [&] {
            while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
            if (line.empty()) throw DataError("{} is empty, but a label was expected", where());
            if (!known.empty()) known_label(line, where(), known);
            places.push_back(seen.emplace(line, static_cast<int32_t>(seen.size())).first->second);
            if (seen.size() > kMostClasses)
              throw DataError("{}: more than {} different labels; is it the right file?", where(),
                              kMostClasses);
            line.clear();
          });
  const bool numbers =
      std::ranges::all_of(seen, [](const auto& item) { return as_label(item.first).has_value(); });
  std::vector<int32_t> label_of(seen.size());
  int32_t next = 0;
  for (const auto& [word, place] : seen) {
    label_of[static_cast<size_t>(place)] = !known.empty() ? known_label(word, "", known)
                                           : numbers      ? *as_label(word)
                                                          : next++;
    if (!numbers && known.empty()) class_names.push_back(word);
  }
  if (!known.empty()) class_names = known;
  for (int32_t& place : places) place = label_of[static_cast<size_t>(place)];
  return places;
}

// Numbers the words of all texts, a row of the same length for each.
void number_words(Texts& texts, const TextOptions& options, const WordIndex& index,
                  const std::function<void(std::span<const int32_t>)>& put) {
  std::vector<int32_t> row(static_cast<size_t>(options.sequence_length));
  size_t at = 0;
  WordStream words(options.words, [&](std::string_view word) {
    if (at < row.size()) row[at++] = index.number(word);
  });
  texts.visit(
      ZeroBytes::refused, [&](std::string_view piece) { words.add(piece); },
      [&] {
        words.end();
        std::fill(row.begin() + static_cast<std::ptrdiff_t>(at), row.end(), 0);
        put(row);
        at = 0;
      });
}

// The texts are read twice, once to learn their words and once to number them.
void check_count(const Texts& texts, int64_t rows, int64_t numbered) {
  if (rows == numbered) return;
  throw FileError(
      "{}: it was changed while it was read: it had {} texts and has {} now; leave the files alone "
      "and start again",
      texts.name(), rows, numbered);
}

struct Learned {
  int64_t rows = 0;
  std::vector<std::string> vocabulary;
};

Learned learn(Texts& texts, const TextOptions& options) {
  Learned learned;
  const bool counts_words = options.vocabulary == nullptr && options.hash_buckets == 0;
  WordCounts counts(static_cast<size_t>(std::max<int64_t>(8 * options.max_tokens, 1 << 16)));
  WordStream words(options.words, [&](std::string_view word) { counts.add(word); });
  texts.visit(
      ZeroBytes::refused,
      [&](std::string_view piece) {
        if (counts_words) words.add(piece);
      },
      [&] {
        words.end();
        ++learned.rows;
      });
  if (counts_words)
    learned.vocabulary = counts.most_frequent(static_cast<size_t>(options.max_tokens - 2));
  if (options.vocabulary != nullptr) learned.vocabulary = *options.vocabulary;
  return learned;
}

RowFile numbered_rows(Texts& texts, const TextOptions& options, const WordIndex& index,
                      int64_t rows, FileSystem& files) {
  RowFile result;
  result.field = {.name = texts.name(),
                  .role = FieldRole::input,
                  .stored = StoredType::int32,
                  .row = {options.sequence_length}};
  result.rows = rows;
  const int64_t bytes = rows * static_cast<int64_t>(result.field.row_bytes());
  if (bytes <= options.most_in_memory || options.cache.empty()) {
    if (bytes > options.most_in_memory) {
      throw DataError("{}: its rows take {}, more than {}; give a cache folder", texts.name(),
                      bytes_text(bytes), bytes_text(options.most_in_memory));
    }
    result.held.reserve(static_cast<size_t>(bytes));
    int64_t numbered = 0;
    number_words(texts, options, index, [&](std::span<const int32_t> row) {
      if (++numbered > rows) return;
      const auto some = std::as_bytes(row);
      result.held.insert(result.held.end(), some.begin(), some.end());
    });
    check_count(texts, rows, numbered);
    return result;
  }
  std::string key =
      texts.identity() + fmt::format("{} {} {} {} {} {}", kVersion, options.sequence_length,
                                     options.words.lower, options.words.strip_punctuation,
                                     options.hash_buckets, index.size());
  for (const std::string& word : index.vocabulary()) key += word + '\n';
  const Path path = options.cache / fmt::format("text-{:016x}.rows", mix_bits(hash_text(key)));
  if (files.size(path) != bytes) {
    files.create_directories(options.cache);
    if (files.free_bytes(options.cache) < bytes)
      throw FileError("{}: {} has no room for {} of rows; free some", texts.name(),
                      options.cache.string(), bytes_text(bytes));
    write_atomically(files, path, [&](File& to) {
      std::vector<std::byte> piece;
      int64_t numbered = 0;
      number_words(texts, options, index, [&](std::span<const int32_t> row) {
        if (++numbered > rows) return;
        const auto some = std::as_bytes(row);
        piece.insert(piece.end(), some.begin(), some.end());
        if (piece.size() < (size_t{1} << 20)) return;
        to.append(piece);
        piece.clear();
      });
      check_count(texts, rows, numbered);
      to.append(piece);
    });
  }
  result.file = files.open(path, OpenMode::read);
  return result;
}

void check_options(const TextOptions& options) {
  constexpr int64_t kMostWords = 1 << 20;
  if (options.sequence_length < 1 || options.sequence_length > kMostWords)
    throw Error("text: sequence_length is {}; give how many words of a text count, 1 to {}",
                options.sequence_length, kMostWords);
  if (options.max_tokens < 3 || options.max_tokens > (1 << 24))
    throw Error("text: max_tokens is {}; give 3 to {}", options.max_tokens, 1 << 24);
  if (options.hash_buckets != 0 && (options.hash_buckets < 2 || options.hash_buckets > (1 << 24)))
    throw Error("text: {} buckets for hashes; give 2 to {}", options.hash_buckets, 1 << 24);
}

}  // namespace

TextData text(const TextOptions& options) {
  check_options(options);
  FileSystem& files = options.file_system != nullptr ? *options.file_system : real_files();
  Texts texts(options, files);
  Learned learned = learn(texts, options);
  if (learned.rows == 0) throw DataError("{}: it is empty", texts.name());
  const WordIndex index = options.hash_buckets > 0 ? WordIndex(options.hash_buckets)
                                                   : WordIndex(std::move(learned.vocabulary));
  TextData data{.vocabulary = index.vocabulary(), .tokens = index.size()};
  std::vector<int32_t> labels;
  if (texts.index() && options.labelled) {
    data.class_names = texts.index()->class_names();
    for (int64_t i = 0; i < texts.index()->size(); ++i) labels.push_back(texts.index()->label(i));
  } else if (!options.labels.empty()) {
    labels = read_labels(options.labels, files, options.known_classes, data.class_names);
  }
  std::vector<RowFile> rows;
  rows.push_back(numbered_rows(texts, options, index, learned.rows, files));
  if (!labels.empty()) {
    RowFile target;
    target.field = {options.labels.empty() ? "label" : options.labels.string(),
                    FieldRole::target,
                    StoredType::int32,
                    {}};
    target.rows = std::ssize(labels);
    const auto bytes = std::as_bytes(std::span(labels));
    target.held.assign(bytes.begin(), bytes.end());
    rows.push_back(std::move(target));
  }
  data.source = row_files(std::move(rows), kRowBufferBytes);
  return data;
}

}  // namespace snug::data

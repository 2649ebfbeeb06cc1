#include "snug/data/text_report.h"

#include <algorithm>
#include <iterator>

#include "snug/base/error.h"
#include "snug/data/class_sides.h"
#include "snug/data/column_doubts.h"
#include "snug/data/csv_cell.h"
#include "snug/data/quantile_sketch.h"
#include "snug/data/text_lines.h"

namespace snug {
namespace {

constexpr size_t kMostListed = 20;
constexpr size_t kMostWords = size_t{1} << 18;  // Different ones that are counted.
constexpr size_t kMostClasses = 4096;
constexpr size_t kMostLabelBytes = 200;
constexpr double kTail = 0.2;  // What a validation split of the end would take.

// Whether bytes that come in pieces are UTF-8.
class Utf8Stream {
 public:
  void add(std::string_view piece) {
    while (!begun_.empty() && !piece.empty()) {
      begun_ += piece[0];
      piece.remove_prefix(1);
      const bool is_whole = is_utf8(begun_);
      if (!is_whole && begun_.size() < 4) continue;
      good_ &= is_whole;
      begun_.clear();
    }
    const std::string_view rest = begun_at_end(piece);
    good_ &= is_utf8(piece.substr(0, piece.size() - rest.size()));
    begun_ += rest;
  }
  // Of all since the last time.
  bool end() {
    const bool was_good = good_ && begun_.empty();
    good_ = true;
    begun_.clear();
    return was_good;
  }

 private:
  // The bytes of a character that may go on in the next piece.
  static std::string_view begun_at_end(std::string_view piece) {
    for (size_t back = 1; back <= std::min<size_t>(3, piece.size()); ++back) {
      const auto byte = static_cast<unsigned char>(piece[piece.size() - back]);
      if ((byte & 0xc0) == 0x80) continue;
      const size_t bytes = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
      return bytes > back ? piece.substr(piece.size() - back) : std::string_view();
    }
    return {};
  }

  bool good_ = true;
  std::string begun_;
};

// How often something is so, and where first.
struct Sight {
  int64_t count = 0;
  std::string first;
  void add(const std::string& place) {
    if (count++ == 0) first = place;
  }
};

class TextScan {
 public:
  TextScan(const data::TextOptions& options, FileSystem& files)
      : options_(options),
        files_(files),
        texts_(options, files),
        words_(options.words, [this](std::string_view word) { add_word(word); }) {}

  TextReport run() {
    texts_.visit(
        data::ZeroBytes::given,
        [this](std::string_view piece) {
          words_.add(piece);
          encoding_.add(piece);
          has_zero_ |= piece.find('\0') != std::string_view::npos;
        },
        [this] { end_text(); });
    report_.different_words = counts_.size();
    report_.has_more = counts_.has_forgotten();
    report_.median = static_cast<int64_t>(lengths_.median());
    report_.most = static_cast<int64_t>(lengths_.quantile(0.9));
    if (report_.texts == 0) report_.wrong.emplace_back("there are no texts");
    say("texts that are not in UTF-8: {}, the first of them {}; save them as UTF-8",
        other_encoding_, report_.wrong);
    say("texts without words: {}, the first of them {}", empty_, report_.notes);
    add_classes();
    std::ranges::move(classes_written_twice(report_.classes), std::back_inserter(report_.wrong));
    return std::move(report_);
  }

 private:
  void add_word(std::string_view word) {
    ++words_here_;
    counts_.add(word);
  }

  std::string place() const {
    return texts_.line() ? fmt::format("{}: line {}", texts_.path().string(), *texts_.line())
                         : texts_.path().string();
  }

  void end_text() {
    words_.end();
    if (words_here_ > report_.longest) {
      report_.longest = words_here_;
      report_.longest_place = place();
    }
    report_.words += words_here_;
    lengths_.add(static_cast<double>(words_here_));
    if (words_here_ == 0) empty_.add(place());
    if (!encoding_.end()) other_encoding_.add(place());
    if (has_zero_) {
      add_bad({.file = texts_.path().string(),
               .position = texts_.line() ? fmt::format("line {}", *texts_.line()) : "",
               .problem = "it has bytes that are 0, so it is no text"});
    }
    ++report_.texts;
    words_here_ = 0;
    has_zero_ = false;
  }

  void add_bad(const BadRow& row) {
    if (report_.bad_rows++ < static_cast<int64_t>(kMostListed)) report_.listed.push_back(row);
  }

  static void say(fmt::format_string<int64_t&, std::string&> line, Sight& sight,
                  std::vector<std::string>& lines) {
    if (sight.count > 0) lines.push_back(fmt::format(line, sight.count, sight.first));
  }

  void add_classes() {
    if (texts_.index() && options_.labelled) {
      const FolderIndex& index = *texts_.index();
      for (int64_t i = 0; i < index.size(); ++i)
        ++report_.classes[index.class_names()[static_cast<size_t>(index.label(i))]];
    } else if (!options_.labels.empty()) {
      read_labels();
    }
  }

  void read_labels() {
    std::map<std::string, int32_t> numbers;
    std::vector<int32_t> labels;
    std::string line;
    const std::string name = options_.labels.string();
    data::LineReader(files_, options_.labels, data::ZeroBytes::given)
        .visit(
            [&](std::string_view piece) {
              line += piece.substr(0, kMostLabelBytes - std::min(kMostLabelBytes, line.size()));
            },
            [&] {
              while (!line.empty() && (line.back() == '\r' || line.back() == ' ')) line.pop_back();
              if (line.empty()) {
                add_bad({.file = name,
                         .position = fmt::format("line {}", labels.size() + 1),
                         .problem = "it is empty, but a label was expected"});
              }
              if (numbers.size() <= kMostClasses)
                numbers.emplace(line, static_cast<int32_t>(numbers.size()));
              const auto found = numbers.find(line);
              labels.push_back(line.empty() || found == numbers.end() ? -1 : found->second);
              line.clear();
            });
    if (std::ssize(labels) != report_.texts) {
      report_.wrong.push_back(
          fmt::format("{} has {} lines, but there are {} texts; give a label for each text", name,
                      labels.size(), report_.texts));
    }
    if (numbers.size() > kMostClasses) {
      report_.wrong.push_back(
          fmt::format("{} has more than {} different labels; is it the right "
                      "file?",
                      name, kMostClasses));
      return;
    }
    compare_sides(numbers, labels);
  }

  void compare_sides(const std::map<std::string, int32_t>& numbers,
                     const std::vector<int32_t>& labels) {
    std::vector<std::string_view> names(numbers.size());
    for (const auto& [name, number] : numbers) names[static_cast<size_t>(number)] = name;
    ClassSides sides(kTail);
    const auto head = static_cast<size_t>(static_cast<double>(labels.size()) * (1 - kTail));
    for (size_t i = 0; i < labels.size(); ++i) {
      if (labels[i] >= 0) sides.add(names[static_cast<size_t>(labels[i])], i >= head);
    }
    report_.classes = sides.totals();
    std::ranges::move(sides.problems(), std::back_inserter(report_.wrong));
  }

  const data::TextOptions& options_;
  FileSystem& files_;
  TextReport report_;
  data::Texts texts_;
  WordStream words_;
  WordCounts counts_{kMostWords};
  Utf8Stream encoding_;
  QuantileSketch lengths_;
  Sight empty_, other_encoding_;
  int64_t words_here_ = 0;
  bool has_zero_ = false;
};

}  // namespace

TextReport report_on(const data::TextOptions& options) {
  FileSystem& files = options.file_system != nullptr ? *options.file_system : real_files();
  return TextScan(options, files).run();
}

}  // namespace snug

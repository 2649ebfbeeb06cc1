#include "snug/data/bad_rows.h"

#include <array>
#include <utility>

#include "snug/base/nearest_word.h"
#include "snug/data/csv_cell.h"

namespace snug {
namespace {

constexpr std::array<std::string_view, 4> kPolicies = {"stop", "skip", "quarantine", "impute"};

constexpr size_t kMostWaiting = size_t{64} << 10;

void add_csv_cell(std::string_view text, std::string& to) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
    to += text;
    return;
  }
  to += '"';
  for (const char c : text) {
    if (c == '"') to += '"';
    to += c;
  }
  to += '"';
}

}  // namespace

BadRowPolicy bad_row_policy(std::string_view word) {
  for (size_t i = 0; i < kPolicies.size(); ++i) {
    if (same_word(kPolicies[i], word)) return static_cast<BadRowPolicy>(i);
  }
  throw Error("\"{}\" is nothing that can be done with a bad row; {}", word,
              did_you_mean(word, kPolicies, ""));
}

std::string BadRow::text() const {
  const std::string place = position.empty() ? file : file + ": " + position;
  if (column.empty()) return fmt::format("{}: {}", place, problem);
  return fmt::format("{}, column {} is {}, but {}", place, column, in_quotes(value), problem);
}

BadRows::BadRows(FileSystem& files, BadRowOptions options)
    : files_(files), options_(std::move(options)) {
  if (options_.policy == BadRowPolicy::quarantine && options_.rejected.empty()) {
    throw Error("quarantine needs a file for the rejected rows");
  }
}

// An error has been thrown already, or nothing is left to be written.
BadRows::~BadRows() {
  try {
    flush();
  } catch (...) {
    waiting_.clear();
  }
}

void BadRows::add(const BadRow& row) {
  if (count_++ == 0) first_ = row.text();
  if (options_.policy == BadRowPolicy::quarantine) write_down(row);
}

void BadRows::write_down(const BadRow& row) {
  if (!rejected_) {
    const bool is_new = files_.size(options_.rejected).value_or(0) == 0;
    rejected_ = files_.open(options_.rejected, OpenMode::append);
    if (is_new) waiting_ = "file,position,column,value,problem,record\n";
  }
  for (const std::string* cell :
       {&row.file, &row.position, &row.column, &row.value, &row.problem}) {
    add_csv_cell(*cell, waiting_);
    waiting_ += ',';
  }
  add_csv_cell(std::string_view(row.record).substr(0, BadRow::kMostText), waiting_);
  waiting_ += '\n';
  if (waiting_.size() >= kMostWaiting) flush();
}

void BadRows::flush() {
  if (waiting_.empty()) return;
  const std::string lines = std::exchange(waiting_, {});
  rejected_->append(std::as_bytes(std::span(lines)));
}

void BadRows::finish(int64_t rows, std::string_view file) {
  if (count_ == 0) return;
  flush();
  const bool stops =
      options_.policy == BadRowPolicy::stop || options_.policy == BadRowPolicy::impute;
  const std::string others = count_ == 1   ? ""
                             : count_ == 2 ? ", and 1 more row is bad"
                                           : fmt::format(", and {} more rows are bad", count_ - 1);
  const std::string check =
      options_.check.empty() ? fmt::format("snug check {}", file) : options_.check;
  if (stops) {
    throw DataError(
        "{}{}; mend the file, or give on_bad_row: skip or quarantine (this lists all: {})", first_,
        others, check);
  }
  if (static_cast<double>(count_) > options_.most * static_cast<double>(rows)) {
    throw DataError(
        "{}: {} of {} rows are bad, more than the {:g} % that bad_rows_at_most allows; the first: "
        "{}; mend the file, or allow more{}",
        file, count_, rows, options_.most * 100, first_,
        rejected_ ? fmt::format(" (their records are in {})", options_.rejected.string())
                  : fmt::format(" (this lists all: {})", check));
  }
  if (rejected_) {
    rejected_->sync();
    rejected_->close();
    rejected_.reset();
  }
}

}  // namespace snug

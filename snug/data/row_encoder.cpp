#include "snug/data/row_encoder.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "snug/base/error.h"
#include "snug/base/nearest_word.h"
#include "snug/base/random.h"
#include "snug/data/csv_cell.h"

namespace snug {
namespace {

std::string unseen_problem(const Column& column, std::string_view cell) {
  if (!is_utf8(cell)) return "text in UTF-8 was expected";
  const std::vector<std::string_view> words(column.vocabulary.begin(), column.vocabulary.end());
  return fmt::format("one of the {} categories of the training data was expected, such as {}",
                     words.size(), in_quotes(nearest_word(cell, words)));
}

}  // namespace

RowEncoder::RowEncoder(Columns columns) : columns_(std::move(columns)) {
  for (size_t i = 0; i < columns_.columns.size(); ++i) {
    const Column& column = columns_.columns[i];
    if (column.use == ColumnUse::drop) continue;
    Kept kept{.column = i, .input = columns_.is_input(column), .lookup = {}};
    const auto label = std::ranges::find(columns_.labels, column.name);
    if (label != columns_.labels.end()) {
      kept.label = static_cast<int>(label - columns_.labels.begin());
    }
    kept.weight = column.name == columns_.weight;
    for (size_t word = 0; word < column.vocabulary.size(); ++word) {
      kept.lookup.emplace(column.vocabulary[word], static_cast<uint32_t>(word));
    }
    kept_.push_back(std::move(kept));
  }
}

std::optional<RowProblem> RowEncoder::encode(const CsvRecord& record, bool impute,
                                             std::span<uint32_t> row, int64_t& imputed) const {
  if (record.open_quote) return RowProblem{-1, "", "its last quote is never closed"};
  if (record.cells.size() != columns_.columns.size()) {
    return RowProblem{-1, "",
                      fmt::format("it has {} cells, but {} were expected, one for each column",
                                  record.cells.size(), columns_.columns.size())};
  }
  row[0] = static_cast<uint32_t>(record.line);
  for (size_t i = 0; i < kept_.size(); ++i) {
    const std::string_view cell = record.cells[kept_[i].column];
    std::string problem = encode_cell(kept_[i], cell, row[i + 1]);
    if (problem.empty()) continue;
    const Column& column = columns_.columns[kept_[i].column];
    if (!impute || column.missing == MissingRule::refuse) {
      return RowProblem{static_cast<int>(kept_[i].column), std::string(cell), std::move(problem)};
    }
    row[i + 1] = column.missing_bits();
    ++imputed;
  }
  return std::nullopt;
}

bool RowEncoder::encode_plain(std::string_view text, char delimiter, int64_t line,
                              std::span<uint32_t> row) const {
  row[0] = static_cast<uint32_t>(line);
  const char *at = text.data(), *end = at + text.size();
  size_t next = 0;  // Of those that are kept.
  for (size_t i = 0; i < columns_.columns.size(); ++i, ++at) {
    const Kept* kept = next < kept_.size() && kept_[next].column == i ? &kept_[next] : nullptr;
    double number = 0;
    const char* stop = nullptr;
    if (kept != nullptr && columns_.columns[i].is_number()) stop = plain_number(at, end, number);
    if (stop != nullptr && (stop == end || *stop == delimiter)) {
      if (!encode_number(*kept, number, row[next + 1])) return false;
    } else {
      const void* found = std::memchr(at, delimiter, static_cast<size_t>(end - at));
      stop = found != nullptr ? static_cast<const char*>(found) : end;
      if (kept != nullptr &&
          !encode_cell(*kept, trimmed_cell(at, stop, delimiter), row[next + 1]).empty()) {
        return false;
      }
    }
    if (kept != nullptr) ++next;
    at = stop;
    if (at == end) return i + 1 == columns_.columns.size();
  }
  return false;
}

bool RowEncoder::encode_number(const Kept& kept, double number, uint32_t& word) const {
  const Column& column = columns_.columns[kept.column];
  if (column.use == ColumnUse::log && number <= -1) return false;
  const float value = column.scaled(number);
  if (!std::isfinite(value) || (kept.weight && value < 0)) return false;
  word = std::bit_cast<uint32_t>(value);
  return true;
}

std::string RowEncoder::encode_cell(const Kept& kept, std::string_view cell, uint32_t& word) const {
  const Column& column = columns_.columns[kept.column];
  if (is_missing(cell)) {
    word = column.missing_bits();
    return column.missing == MissingRule::refuse ? "a value was expected" : "";
  }
  if (column.is_number()) {
    const std::optional<double> number = number_of(cell);
    if (!number) return "a number was expected";
    if (column.use == ColumnUse::log && *number <= -1) return "a number above -1 was expected";
    const float value = column.scaled(*number);
    if (!std::isfinite(value)) return "a finite number that float32 holds was expected";
    if (!encode_number(kept, *number, word)) return "a weight of 0 or more was expected";
    return "";
  }
  if (column.use == ColumnUse::hash) {
    word = static_cast<uint32_t>(hash_text(cell) % static_cast<uint64_t>(column.buckets));
    return "";
  }
  const auto found = kept.lookup.find(cell);
  if (found == kept.lookup.end()) return unseen_problem(column, cell);
  word = found->second;
  return "";
}

void RowEncoder::expand_inputs(std::span<const uint32_t> row, float* to) const {
  for (size_t i = 0; i < kept_.size(); ++i) {
    if (!kept_[i].input) continue;
    const Column& column = columns_.columns[kept_[i].column];
    column.expand(row[i + 1], to);
    to += column.width();
  }
}

int64_t RowEncoder::label_width() const {
  int64_t width = 0;
  for (const Kept& kept : kept_) {
    if (kept.label >= 0) width += columns_.columns[kept.column].width();
  }
  return width;
}

// In the order in which the labels were named.
void RowEncoder::expand_labels(std::span<const uint32_t> row, float* to) const {
  for (int label = 0; label < std::ssize(columns_.labels); ++label) {
    for (size_t i = 0; i < kept_.size(); ++i) {
      if (kept_[i].label != label) continue;
      const Column& column = columns_.columns[kept_[i].column];
      column.expand(row[i + 1], to);
      to += column.width();
    }
  }
}

float RowEncoder::weight(std::span<const uint32_t> row) const {
  for (size_t i = 0; i < kept_.size(); ++i) {
    if (kept_[i].weight) return std::bit_cast<float>(row[i + 1]);
  }
  return 1;
}

}  // namespace snug

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
#include "snug/kernels/fill_missing.h"

namespace snug {
namespace {

std::string unseen_problem(const Column& column, std::string_view cell, bool input) {
  if (!is_utf8(cell)) return "text in UTF-8 was expected";
  const std::vector<std::string_view> words(column.vocabulary.begin(), column.vocabulary.end());
  if (words.empty()) return "the rows before it have no category in this column";
  const std::string_view nearest = nearest_word(cell, words);
  return fmt::format(
      "one of the {} categories of the training data was expected, such as {}{}", words.size(),
      in_quotes(nearest.empty() ? words[0] : nearest),
      input ? fmt::format(" (columns: {{{}: {{unseen: missing}}}} takes it for a missing one)",
                          yaml_key(column.name))
            : "");
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
  std::ranges::stable_sort(
      kept_, {}, [&](const Kept& kept) { return columns_.columns[kept.column].position; });
  find_shortcuts();
}

void RowEncoder::find_shortcuts() {
  for (int label = 0; label < std::ssize(columns_.labels); ++label) {
    for (size_t i = 0; i < kept_.size(); ++i) {
      if (kept_[i].label != label) continue;
      labels_.push_back(i);
      label_width_ += columns_.columns[kept_[i].column].width();
    }
  }
  bool linear = kept_.size() == columns_.columns.size(), side_by_side = true;
  size_t last = 0;
  for (size_t i = 0; i < kept_.size(); ++i) {
    const Column& column = columns_.columns[kept_[i].column];
    linear &= column.is_number() && column.use != ColumnUse::log && !kept_[i].weight;
    linear &= !column.is_clipped() && kept_[i].column == i;
    if (!kept_[i].input) continue;
    side_by_side &= column.is_number() && column.width() == 1;
    side_by_side &= missing_inputs_.empty() || last + 1 == i;
    if (missing_inputs_.empty()) first_input_ = i;
    missing_inputs_.push_back(column.is_number() ? column.scaled(column.missing_value) : 0);
    last = i;
  }
  side_by_side_ = side_by_side ? missing_inputs_.size() : 0;
  missing_inputs_.resize(missing_inputs_.size() + kernels::kMissingPadding);
  for (const Column& column : columns_.columns) {
    if (!linear) break;
    shifts_.push_back(column.shift);
    scales_.push_back(column.scale);
  }
}

std::optional<RowProblem> RowEncoder::encode(const CsvRecord& record, bool impute,
                                             std::span<uint32_t> row, int64_t& imputed) const {
  if (record.open_quote) {
    return RowProblem{
        -1, "",
        record.lines == 1
            ? "its last quote is never closed"
            : fmt::format("its last quote is never closed, so it runs on for {} lines",
                          record.lines)};
  }
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

bool RowEncoder::encode_row(const CsvCells& cells, size_t row, std::span<uint32_t> to) const {
  const std::span<const double> values = cells.row(row);
  to[0] = static_cast<uint32_t>(cells.line(row));
  for (size_t i = 0; i < kept_.size(); ++i) {
    const Kept& kept = kept_[i];
    const double value = values[kept.column];
    const bool good = !std::isnan(value) && columns_.columns[kept.column].is_number()
                          ? encode_number(kept, value, to[i + 1])
                          : encode_cell(kept, cells.cell(row, kept.column), to[i + 1]).empty();
    if (!good) return false;
  }
  return true;
}

bool RowEncoder::encode_values(std::span<const double> values, int64_t line,
                               std::span<uint32_t> to) const {
  to[0] = static_cast<uint32_t>(line);
  for (size_t i = 0; i < kept_.size(); ++i) {
    const Column& column = columns_.columns[kept_[i].column];
    const double value = values[kept_[i].column];
    if (!column.is_number()) return false;
    if (!std::isnan(value)) {
      if (!encode_number(kept_[i], value, to[i + 1])) return false;
      continue;
    }
    if (column.missing == MissingRule::refuse) return false;
    to[i + 1] = column.missing_bits();
  }
  return true;
}

bool RowEncoder::encode_numbers(std::span<const double> values, int64_t first_line,
                                std::span<uint32_t> to) const {
  if (shifts_.empty()) return false;
  const size_t columns = shifts_.size(), rows = values.size() / columns;
  for (size_t row = 0; row < rows; ++row) {
    to[row * words()] = static_cast<uint32_t>(first_line + static_cast<int64_t>(row));
  }
  return kernels::scale_columns(values.data(), rows, columns, shifts_.data(), scales_.data(),
                                reinterpret_cast<float*>(to.data() + 1), words());
}

bool RowEncoder::encode_number(const Kept& kept, double number, uint32_t& word) const {
  const Column& column = columns_.columns[kept.column];
  if (column.use == ColumnUse::log && std::max(number, column.low) <= -1) return false;
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
    if (column.use == ColumnUse::log && std::max(*number, column.low) <= -1) {
      return "a number above -1 was expected";
    }
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
  if (found == kept.lookup.end()) {
    word = column.missing_bits();
    return column.unseen_is_missing ? "" : unseen_problem(column, cell, kept.input);
  }
  word = found->second;
  return "";
}

// A category that is not known may be one of the rows that could not be read.
Likeness RowEncoder::likeness(std::span<const std::string_view> cells) const {
  bool plain = false;
  for (const Kept& kept : kept_) {
    const std::string_view cell = cells[kept.column];
    if (is_missing(cell)) continue;
    const bool is_number = columns_.columns[kept.column].is_number();
    if (is_number && !number_of(cell)) return Likeness::none;
    plain |= is_number || kept.lookup.contains(cell);
  }
  return plain ? Likeness::plain : Likeness::unclear;
}

void RowEncoder::expand_inputs(std::span<const uint32_t> rows, float* to) const {
  if (side_by_side_ > 0) {
    kernels::fill_missing(rows.data() + 1 + first_input_, rows.size() / words(), words(),
                          side_by_side_, Column::kNoNumber, missing_inputs_.data(), to);
    return;
  }
  for (size_t at = 0; at < rows.size(); at += words()) {
    const uint32_t* row = rows.data() + at + 1;
    for (size_t i = 0; i < kept_.size(); ++i) {
      if (!kept_[i].input) continue;
      const Column& column = columns_.columns[kept_[i].column];
      column.expand(row[i], to);
      to += column.width();
    }
  }
}

void RowEncoder::expand_labels(std::span<const uint32_t> rows, float* to) const {
  for (const size_t i : labels_) {
    const Column& column = columns_.columns[kept_[i].column];
    float* into = to;
    for (size_t at = i + 1; at < rows.size(); at += words(), into += label_width_) {
      column.expand(rows[at], into);
    }
    to += column.width();
  }
}

void RowEncoder::expand_weights(std::span<const uint32_t> rows, float* to) const {
  for (size_t i = 0; i < kept_.size(); ++i) {
    if (!kept_[i].weight) continue;
    const Column& column = columns_.columns[kept_[i].column];
    for (size_t at = i + 1; at < rows.size(); at += words()) column.expand(rows[at], to++);
  }
}

}  // namespace snug

#include "snug/data/split.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <map>
#include <vector>

#include "snug/base/error.h"
#include "snug/base/log.h"
#include "snug/base/nearest_word.h"
#include "snug/base/random.h"
#include "snug/data/csv_cell.h"
#include "snug/data/permutation.h"
#include "snug/data/row_subset.h"
#include "snug/data/shared_source.h"

namespace snug {
namespace {

constexpr std::array<std::string_view, 3> kKinds = {"tail", "random", "stratified"};
constexpr size_t kMostClasses = 1000, kMostNamed = 5;
// Apart from the passes of an epoch.
constexpr uint64_t kSplitPass = 0xffffffff00000001u;

}  // namespace

SplitKind split_kind(std::string_view word) {
  for (size_t i = 0; i < kKinds.size(); ++i) {
    if (same_word(kKinds[i], word)) return static_cast<SplitKind>(i);
  }
  throw Error("\"{}\" is no way to split rows; {}", word, did_you_mean(word, kKinds, ""));
}

namespace data {
namespace {

// The field with one whole number a row that says the class; -1 where there is none.
int label_field(const Source& source) {
  for (int i = 0; i < std::ssize(source.fields()); ++i) {
    const Field& field = source.fields()[i];
    if (field.role == FieldRole::target) return field.row.size() == 1 ? i : -1;
  }
  return -1;
}

// Calls visit(row, label) for all rows in order. False when a label is no whole number.
bool visit_labels(Source& source, int field,
                  const std::function<bool(int64_t row, int32_t label)>& visit) {
  std::array<int64_t, 256> numbers{};
  std::array<int32_t, 256> labels{};
  const int64_t rows = *source.rows();
  for (int64_t first = 0; first < rows; first += std::ssize(numbers)) {
    const int64_t some = std::min<int64_t>(std::ssize(numbers), rows - first);
    for (int64_t i = 0; i < some; ++i) numbers[i] = first + i;
    try {
      source.read(field, std::span(numbers).first(some), {{DType::int32, {some}}, labels.data()});
    } catch (const DataError&) {
      return false;
    }
    for (int64_t i = 0; i < some; ++i) {
      if (!visit(first + i, labels[i])) return false;
    }
  }
  return true;
}

struct Sides {
  int64_t train = 0, validation = 0;
};

// More values than a few, which hardly come twice: amounts.
bool are_amounts(const std::map<int32_t, Sides>& classes) {
  constexpr size_t kFew = 8;
  int64_t rows = 0;
  for (const auto& [label, sides] : classes) rows += sides.train + sides.validation;
  return classes.size() > kFew && 2 * std::ssize(classes) > rows;
}

std::string class_text(int32_t label, const std::vector<std::string>& names) {
  const bool has_name = label >= 0 && label < std::ssize(names);
  return has_name ? in_quotes(names[static_cast<size_t>(label)]) : std::to_string(label);
}

void warn_of_classes(const std::map<int32_t, Sides>& classes,
                     const std::vector<std::string>& names) {
  if (are_amounts(classes)) return;
  size_t found = 0;
  for (const auto& [label, sides] : classes) {
    if (sides.train > 0 && sides.validation > 0) continue;
    if (++found > kMostNamed) continue;
    log_message(LogLevel::warning,
                "all {} rows of class {} are on the {} side of the split, so the model is never {} "
                "on it; split at random or stratified, or shuffle the file",
                sides.train + sides.validation, class_text(label, names),
                sides.train == 0 ? "validation" : "training",
                sides.train == 0 ? "trained" : "validated");
  }
  if (found > kMostNamed)
    log_message(LogLevel::warning, "and {} more classes are on one side of the split alone",
                found - kMostNamed);
}

void warn_of_sides(Source& source, const std::vector<std::string>& class_names,
                   const std::function<bool(int64_t row)>& validates) {
  const int field = label_field(source);
  if (field < 0 || !log_is_on()) return;
  std::map<int32_t, Sides> classes;
  const bool whole = visit_labels(source, field, [&](int64_t row, int32_t label) {
    Sides& sides = classes[label];
    ++(validates(row) ? sides.validation : sides.train);
    return classes.size() <= kMostClasses;
  });
  if (whole) warn_of_classes(classes, class_names);
}

// Of each class the share, to the nearest row: walking over the rows, each is taken with the chance
// that leaves the right number of them.
RowSubset stratified_rows(Source& source, const SplitOptions& options) {
  const int field = label_field(source);
  if (field < 0) {
    throw Error("split: stratified needs one label a row; give random");
  }
  std::map<int32_t, Sides> left;  // Rows to come, and of these for validation.
  const bool whole = visit_labels(source, field, [&](int64_t, int32_t label) {
    ++left[label].train;
    return left.size() <= kMostClasses;
  });
  if (!whole) {
    throw Error(
        "split: {} is not one of at most {} classes in every row, as stratified needs; give random",
        source.fields()[field].name, kMostClasses);
  }
  for (auto& [label, sides] : left) {
    sides.validation = std::llround(static_cast<double>(sides.train) * options.share);
  }
  RowSubset rows(*source.rows());
  const PhiloxKey key = philox_key(options.seed, hash_text("stratified split"));
  visit_labels(source, field, [&](int64_t row, int32_t label) {
    Sides& sides = left[label];
    const auto low = static_cast<uint32_t>(row), high = static_cast<uint32_t>(row >> 32);
    const uint64_t drawn = philox({low, high, 0, 0}, key)[0];
    const bool taken =
        drawn * static_cast<uint64_t>(sides.train) < static_cast<uint64_t>(sides.validation) << 32;
    --sides.train;
    if (taken) {
      --sides.validation;
      rows.add(row);
    }
    return true;
  });
  rows.finish();
  return rows;
}

RowSubset random_rows(int64_t rows, int64_t validation, uint64_t seed) {
  RowSubset chosen(rows);
  const Permutation order(rows, seed, kSplitPass);
  for (int64_t i = 0; i < validation; ++i) chosen.add(order(i));
  chosen.finish();
  return chosen;
}

RowSubset last_rows(int64_t rows, int64_t validation) {
  RowSubset chosen(rows);
  for (int64_t row = rows - validation; row < rows; ++row) chosen.add(row);
  chosen.finish();
  return chosen;
}

}  // namespace

void warn_of_missing_classes(Source& source, int64_t first,
                             const std::vector<std::string>& class_names) {
  warn_of_sides(source, class_names, [&](int64_t row) { return row >= first; });
}

SplitData split(const SourcePtr& source, const SplitOptions& options) {
  if (source->access() != Access::random) {
    throw Error("split: rows that come in sequence cannot be split; give validation data");
  }
  if (!(options.share > 0 && options.share < 1)) {
    throw Error("split: the share for validation is {}; it must be between 0 and 1", options.share);
  }
  const int64_t rows = *source->rows();
  const int64_t train = static_cast<int64_t>(static_cast<double>(rows) * (1 - options.share));
  RowSubset validation = options.kind == SplitKind::stratified ? stratified_rows(*source, options)
                         : options.kind == SplitKind::random
                             ? random_rows(rows, rows - train, options.seed)
                             : last_rows(rows, rows - train);
  if (validation.count() == 0 || validation.count() == rows) {
    throw Error("split: {} of {} rows would be for validation; both sides need rows",
                validation.count(), rows);
  }
  if (options.warns)
    warn_of_sides(*source, options.class_names,
                  [&](int64_t row) { return validation.contains(row); });
  RowSubset rest = validation.rest();
  const SourcePtr both = shared(source);
  return {.train = subset(both, std::move(rest)),
          .validation = subset(both, std::move(validation))};
}

}  // namespace data
}  // namespace snug

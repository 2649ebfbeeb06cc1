// How the columns of a table become the numbers that a model reads, and what of it was fitted to
// the training data.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "snug/data/column_scan.h"

namespace snug {

enum class ColumnUse {
  drop,         // Not read.
  standardise,  // (x - mean) / deviation.
  min_max,      // To 0 .. 1.
  log,          // log(1 + x).
  as_is,        // The number itself.
  one_hot,      // One number for each category.
  index,        // The category's number, from 0.
  hash,         // One-hot of a hash of the category, for more categories than are worth a list.
};
std::string_view name_of(ColumnUse use);
// Throws Error, which names the nearest right word.
ColumnUse column_use(std::string_view word);

// What a missing cell becomes.
enum class MissingRule {
  refuse,    // The row is bad.
  mean,      // The mean of the column.
  value,     // A number that was given.
  flag,      // The mean, and one more number that is 1 where the cell is missing.
  category,  // A category of its own; all zeros with one_hot.
  median,    // The median of the column, to within 1 % of its rows.
};
std::string_view name_of(MissingRule rule);

// What the user says about a column. What is left open is chosen.
struct ColumnSetting {
  std::optional<ColumnUse> use;
  std::optional<MissingRule> missing;
  double missing_value = 0;
  int64_t buckets = 64;                                   // Of hash.
  double low = -std::numeric_limits<double>::infinity();  // Numbers below it become it,
  double high = std::numeric_limits<double>::infinity();  // those above this one this.
  std::optional<bool> unseen_is_missing;  // Of categories; else a row with an unseen one is bad.
};

// A column with all that is needed to encode it.
struct Column {
  std::string name;
  ColumnUse use = ColumnUse::drop;
  MissingRule missing = MissingRule::refuse;
  double missing_value = 0;  // As the column has it, not as it is encoded.
  int64_t buckets = 0;
  double shift = 0, scale = 1;                            // Of numbers: (x - shift) * scale.
  double low = -std::numeric_limits<double>::infinity();  // Before that they are held within.
  double high = std::numeric_limits<double>::infinity();
  bool unseen_is_missing = false;       // Of categories.
  std::vector<std::string> vocabulary;  // Of categories.
  std::string note;                     // Why it was chosen so, for people.
  // Inputs are read in the order of their positions; in that of the file where these are equal.
  int64_t position = 0;

  bool is_number() const { return use >= ColumnUse::standardise && use <= ColumnUse::as_is; }
  bool is_clipped() const { return std::isfinite(low) || std::isfinite(high); }
  // How many numbers it becomes.
  int64_t width() const;

  // A number as the model reads it.
  float scaled(double number) const;
  // A cell is kept in four bytes: a scaled number, or the number of a category. This is a missing
  // one: a NaN, which no cell becomes, or more than any vocabulary has.
  uint32_t missing_bits() const { return is_number() ? kNoNumber : kNoCategory; }
  static constexpr uint32_t kNoNumber = 0x7fc00000, kNoCategory = 0xffffffff;
  // Writes width() numbers.
  void expand(uint32_t bits, float* to) const;

  friend bool operator==(const Column&, const Column&) = default;
};

// All columns of a table, in the order of the file; those that are the target or the weight are
// named apart.
struct Columns {
  std::vector<Column> columns;
  std::vector<std::string> labels;
  std::string weight;  // Empty: none.
  bool has_header = true;
  char delimiter = ',';
  std::vector<std::string> doubts;  // What a person should look at (column_doubts.h), as sentences.

  bool is_input(const Column& column) const;
  int64_t input_width() const;
  const Column* find(std::string_view name) const;
  // A table for people: what becomes of each column.
  std::string text() const;
  // For the model's file and for the cache. The second throws DataError on what the first did not
  // write.
  std::string json() const;
  static Columns from_json(std::string_view text);
};

struct ColumnWishes {
  std::vector<std::string> labels;
  std::string weight;
  std::map<std::string, ColumnSetting> settings;
  // Numbers that are missing nowhere in the table take its mean where they are missing in others;
  // if not, as of a table that nothing is to be learned from, they are refused there.
  bool mean_for_others = true;
};

// Chooses what was not said from what the scan has found: numbers are standardised and missing ones
// take the mean; up to 256 categories become one-hot, more are hashed, and where most rows have
// their own they are dropped, as is the index that pandas writes; a label that is text becomes
// the number of its class. Throws Error, which names the nearest column, for a wish about a column
// that is not there, and for one that makes no number of a cell or of a weight; DataError where a
// column has no values to learn from.
Columns choose_columns(const std::vector<ColumnScan>& scans, const ColumnWishes& wishes,
                       std::string_view file);

}  // namespace snug

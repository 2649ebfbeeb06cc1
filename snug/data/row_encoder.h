// Turns the records of a table into packed rows, and packed rows into what a model reads.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "snug/data/columns.h"
#include "snug/data/csv_cells.h"
#include "snug/data/csv_reader.h"

namespace snug {

// A cell or a record that cannot be encoded.
struct RowProblem {
  int column = -1;  // Of the file; -1: the record itself.
  std::string value;
  std::string expected;  // "a number was expected".
};

// Whether a line may be a row.
enum class Likeness {
  none,     // A cell is no number where the column has numbers.
  unclear,  // No cell tells.
  plain,    // A number stands in a column of numbers, or a category in that of its own.
};

// A packed row: the file's line as its first word, then one word for each column that is not
// dropped, in the order of their positions.
class RowEncoder {
 public:
  explicit RowEncoder(Columns columns);
  RowEncoder(RowEncoder&&) = default;  // Not copied: the lookups point into the columns.

  const Columns& columns() const { return columns_; }
  // Words of a packed row.
  size_t words() const { return kept_.size() + 1; }

  // Nullopt when the record has been packed. With `impute`, a cell that cannot be encoded counts as
  // missing where the column has a rule for missing cells; `imputed` counts them.
  std::optional<RowProblem> encode(const CsvRecord& record, bool impute, std::span<uint32_t> row,
                                   int64_t& imputed) const;
  // The same for a row of cells, quickly; false where encode() has to look.
  bool encode_row(const CsvCells& cells, size_t row, std::span<uint32_t> to) const;
  // The same for all cells of a row, which are numbers or missing (NaN).
  bool encode_values(std::span<const double> values, int64_t line, std::span<uint32_t> to) const;
  // The same for rows of neighbouring lines, in which nothing is missing.
  bool encode_numbers(std::span<const double> values, int64_t first_line,
                      std::span<uint32_t> to) const;

  // Of texts, one for each column, that need not be a record.
  Likeness likeness(std::span<const std::string_view> cells) const;

  // The numbers of the inputs, the labels or the weight, of rows that stand side by side.
  void expand_inputs(std::span<const uint32_t> rows, float* to) const;
  void expand_labels(std::span<const uint32_t> rows, float* to) const;
  void expand_weights(std::span<const uint32_t> rows, float* to) const;
  int64_t label_width() const { return label_width_; }

 private:
  struct Kept {
    size_t column = 0;
    bool input = false;
    int label = -1;  // The position among the labels.
    bool weight = false;
    std::unordered_map<std::string_view, uint32_t> lookup;  // Of the categories.
  };
  // False where encode_cell() would find a problem.
  bool encode_number(const Kept& kept, double number, uint32_t& word) const;
  // Empty when the cell could be packed.
  std::string encode_cell(const Kept& kept, std::string_view cell, uint32_t& word) const;

  void find_shortcuts();

  Columns columns_;
  std::vector<Kept> kept_;      // In the order of a packed row.
  std::vector<size_t> labels_;  // Those of kept_, in the order in which they were named.
  int64_t label_width_ = 0;
  // Of every column, where all are numbers that are but shifted and scaled; else empty.
  std::vector<double> shifts_, scales_;
  // Where the inputs are columns side by side that become a number each: how many they are, the
  // first of them among kept_, and what each is where it is missing; else 0.
  size_t side_by_side_ = 0, first_input_ = 0;
  std::vector<float> missing_inputs_;  // With room behind them.
};

}  // namespace snug

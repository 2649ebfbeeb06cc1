// What a column of a table holds, learned in one pass in fixed memory.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "snug/data/distinct_sample.h"
#include "snug/data/quantile_sketch.h"

namespace snug {

// Different texts, each with how often it came, as long as they are few.
class Vocabulary {
 public:
  static constexpr size_t kMostWords = 4096;

  explicit Vocabulary(size_t most_bytes = size_t{256} << 10);

  void add(std::string_view word);
  // What another one has seen too.
  void merge(const Vocabulary& other);
  // More than it keeps: it is empty, and counts no further than about().
  bool is_full() const { return full_; }
  size_t size() const { return words_.size(); }
  size_t most_bytes() const { return most_bytes_; }
  // How many different words came; where it is full, about how many that are no numbers.
  int64_t about() const { return full_ ? sample_.estimate() : static_cast<int64_t>(size()); }
  // Sorted: by number where all of them are numbers, else by bytes.
  std::vector<std::string> sorted() const;
  int64_t count(std::string_view word) const;

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };
  // Words of up to eight bytes that came lately, with their counts.
  struct Recent {
    uint64_t bytes = 0;
    size_t size = 0;
    int64_t* count = nullptr;
  };
  void add(std::string_view word, int64_t count);
  int64_t* count_of(std::string_view word);
  void sample(std::string_view word);
  void become_full();
  size_t recents() const;

  std::unordered_map<std::string, int64_t, Hash, std::equal_to<>> words_;
  std::vector<Recent> recent_;
  size_t bytes_ = 0;
  size_t most_bytes_;
  bool full_ = false;
  DistinctSample sample_;  // Of a full one.
};

// What a cell is.
enum class CellKind { missing, number, not_finite, text };

// Of finite numbers: differences are taken from one of them, which loses less than sums of the
// numbers.
struct NumberSums {
  int64_t numbers = 0;
  int64_t whole = 0;  // Without a fraction.
  double origin = 0, sum = 0, squares = 0;
  double min = 0, max = 0;
};

struct ColumnScan {
  ColumnScan(std::string name, size_t most_bytes) : name(std::move(name)), values(most_bytes) {}

  // A cell; its value is not counted.
  void add(std::string_view cell, int64_t line);
  // The same for a cell that was counted in `cells` and may be no number. Where it is a finite one,
  // it is given to `number` and left to add_sums().
  CellKind add_other(std::string_view cell, int64_t line, double& number);
  void add_sums(const NumberSums& sums);
  void add_hash(std::string_view cell, int64_t line);
  // What comes later in the table; its values apart, which are merged once, in any order.
  void merge(const ColumnScan& later);
  // As at the start, but for the values.
  void restart();

  std::string name;
  int64_t cells = 0;
  int64_t missing = 0;
  int64_t numbers = 0;      // Finite ones.
  int64_t not_finite = 0;   // inf, 1e400, and what is next to them: 1e151.
  int64_t whole = 0;        // Finite numbers without a fraction.
  double min = 0, max = 0;  // Of the finite numbers.
  Vocabulary values;        // Of the cells that are not missing.
  std::string first_text;   // The first cell that is no number, and its line.
  int64_t first_text_line = 0;
  QuantileSketch sketch;  // Of the finite numbers, where it is wanted.
  bool wants_sketch = false;
  // Of all cells and their lines, where it is wanted: equal columns have equal ones.
  bool wants_hash = false;
  uint64_t hash = 0;
  // Every cell is a whole number, and of the first 4096 no two are equal.
  bool all_different = false;

  int64_t present() const { return cells - missing; }
  // At least half of what is there are numbers; the others are then mistakes.
  bool is_number() const { return numbers > 0 && 2 * (numbers + not_finite) >= present(); }
  // Whether its cells can all be whole numbers of which no two are equal.
  bool may_be_all_different() const {
    return cells > 1 && whole == cells && max - min >= static_cast<double>(cells - 1);
  }
  double mean() const { return numbers == 0 ? 0 : origin_ + sum_ / static_cast<double>(numbers); }
  double deviation() const;  // Of the population, as Keras's Normalization has it.

 private:
  double origin_ = 0, sum_ = 0, squares_ = 0;
};

}  // namespace snug

// A source without its bad rows.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "snug/data/bad_rows.h"
#include "snug/data/source.h"

namespace snug::data {

// What a model asks of its rows beyond numbers that are finite.
struct RowRules {
  // Whole-number targets must be from 0 up to, but not, this: the model's outputs. Nullopt: any.
  std::optional<int64_t> classes = {};
  // So must the numbers of each input: the rows of an embedding. Shorter: any.
  std::vector<std::optional<int64_t>> ids_below = {};
};

struct CheckOptions {
  BadRowOptions bad_rows;
  RowRules rules;
  FileSystem* files = nullptr;  // For quarantine; null: the machine's own.
};

struct CheckedData {
  SourcePtr source;
  int64_t bad_rows = 0;
};

// What a pass over all rows of a source finds.
struct RowVisitor {
  std::function<void(int64_t row, const BadRow& bad)> bad;
  // Blocks of good rows of a field, from row `first` on, as float32; empty: nobody looks.
  std::function<void(int field, int64_t first, std::span<const float> values)> good;
};
// Of a source with random access, in order.
void visit_rows(Source& source, const RowRules& rules, const RowVisitor& visitor);

// Reads all rows once and leaves out those that cannot be read (a number that is not finite, a
// label that is none), so that a pass has the same rows in every epoch and its length is known. The
// rows keep their names in messages. It holds eight bytes for each bad row. Throws DataError when
// more are bad than is allowed; Error for a source without random access, and for impute, which
// only columns of a table can. A source whose policy is to stop is given back as it is: its rows
// are checked as they are read.
CheckedData checked(SourcePtr source, const CheckOptions& options);

}  // namespace snug::data

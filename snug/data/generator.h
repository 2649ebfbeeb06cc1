// Rows that a function of the user's makes, batch by batch.
#pragma once

#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <vector>

#include "snug/data/source.h"

namespace snug {

struct FieldSpec {
  Shape row;  // Of one row, without the batch; concrete.
  DType dtype = DType::float32;
};

// One field, or a list of them: {{224, 224, 3}}, {{}, DType::int32}, {{{28, 28}}, {{3}}}.
class FieldSpecs {
 public:
  FieldSpecs() = default;
  FieldSpecs(const Shape& row, DType dtype = DType::float32) : specs_{{row, dtype}} {}  // NOLINT
  FieldSpecs(std::initializer_list<FieldSpec> specs) : specs_(specs) {}

  size_t size() const { return specs_.size(); }
  const FieldSpec& operator[](size_t i) const { return specs_[i]; }

 private:
  std::vector<FieldSpec> specs_;
};

// Fills the slots (x, then y, then the weights, each [n, row...] of the type that the spec says)
// from their first row on, and returns how many rows it made: from 1 to n, or 0 at the end. A
// generator of single rows writes one and returns 1; it is called until the batch is full.
using NextRows = std::function<int64_t(std::span<const Tensor> slots)>;

struct GeneratorSpec {
  FieldSpecs x, y;
  bool weighted = false;          // The last slot is one float32 a row.
  std::function<void()> restart;  // Begins again, with the same rows; empty: it cannot.
  std::optional<int64_t> rows;    // How many rows there are, if that is known.
};

namespace data {

// Access::replay with a restart, else Access::once. Where a slot has the type that the spec says,
// the function writes into it; else into a buffer of this source, in pieces. Throws DataError,
// which names row and value, for rows that cannot be trained on; Error when the function returns a
// number that cannot be, or ends before `rows`.
SourcePtr generator(NextRows next, GeneratorSpec spec);

}  // namespace data
}  // namespace snug

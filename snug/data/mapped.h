// Rows that a function of the user's makes of other rows.
#pragma once

#include <functional>
#include <span>

#include "snug/data/generator.h"
#include "snug/data/source.h"

namespace snug {

// Makes rows `out` (x, then y, then the weight, as the spec says) of rows `in` (all fields of the
// source, of types as held_dtype() says), one for one. Called with any number of rows, in any order
// and more than once for a row, so it depends on nothing but them.
using MapRows = std::function<void(std::span<const Tensor> in, std::span<const Tensor> out)>;

struct MapSpec {
  FieldSpecs x, y;
  bool weighted = false;  // The last of `out` is one float32 a row.
  // The function may be called by several threads at once; 1: by one at a time, which may be
  // another one than the caller's.
  int num_parallel_calls = 1;
};

// Whether a row, one of each field, with the types that MapRows gets, is to be kept.
using KeepRow = std::function<bool(std::span<const Tensor> row)>;

namespace data {

// Of a source with random access; rows stay where they are. What the function makes is checked as a
// generator's rows are. It works on pieces of up to 256 rows, in buffers of this source.
SourcePtr mapped(SourcePtr source, MapRows function, MapSpec spec);

// Asks for every row once, in order.
SourcePtr filtered(SourcePtr source, const KeepRow& keep);

}  // namespace data
}  // namespace snug

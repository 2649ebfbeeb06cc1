// Where rows come from. A source knows its fields and hands out rows, cast to what the step wants,
// into slots that the plan has counted.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "snug/tensor/tensor.h"

namespace snug {

// What a field is for.
enum class FieldRole { input, target, weight };

// The element types that files and arrays have; rows are cast when they are staged.
enum class StoredType : uint8_t {
  float16,
  float32,
  float64,
  int8,
  int16,
  int32,
  int64,
  uint8,
  uint16,
  uint32,
  uint64,
  boolean
};
size_t size_of(StoredType type);
std::string_view name_of(StoredType type);

struct Field {
  std::string name;  // Where it comes from, for messages: "x", "train-images-idx3-ubyte.gz".
  FieldRole role = FieldRole::input;
  StoredType stored = StoredType::float32;
  Shape row;  // Of one row; concrete.
};

// How far back a source can go.
enum class Access {
  random,  // Any row at any time: perfect shuffling, exact resume.
  replay,  // From the start again, in the same order.
  once,    // Never again.
};

class Source {
 public:
  virtual ~Source() = default;

  // Inputs first, then targets, then at most one weight.
  virtual const std::vector<Field>& fields() const = 0;
  // Nullopt: not known before the end.
  virtual std::optional<int64_t> rows() const = 0;
  virtual Access access() const = 0;

  // Random access: writes these rows of one field to `slot`, cast to its dtype. Throws DataError
  // that names the field, the row, the value and what was expected: a number that is not finite, a
  // label that the slot's type cannot hold.
  virtual void read(int field, std::span<const int64_t> rows, const Tensor& slot) = 0;

  // The memory of rows [first, first + count) of a field, where it stands in memory with just this
  // dtype; else null.
  virtual const void* borrow(int /*field*/, int64_t /*first*/, int64_t /*count*/, DType /*dtype*/) {
    return nullptr;
  }

  // Sequential access: writes up to `count` next rows of all fields to the slots (in the order of
  // fields) and says how many; 0 at the end.
  virtual int64_t next(int64_t count, std::span<const Tensor> slots) = 0;
  // From the start again. Throws Error for a source that cannot (Access::once).
  virtual void restart() = 0;
};
using SourcePtr = std::shared_ptr<Source>;

}  // namespace snug

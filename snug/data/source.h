// Where rows come from. A source knows its fields and hands out rows, cast to what the step wants,
// into slots that the plan has counted.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
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
StoredType stored_as(DType dtype);

struct Field {
  std::string name;  // Where it comes from, for messages: "x", "train-images-idx3-ubyte.gz".
  FieldRole role = FieldRole::input;
  StoredType stored = StoredType::float32;
  Shape row;  // Of one row; concrete.

  size_t row_bytes() const { return static_cast<size_t>(row.size()) * size_of(stored); }
};

// The fields of a source, inputs first, with the rows that each of them has. Throws Error, which
// names the fields, when there is none, when the numbers of rows differ, when a row has no elements
// or when a weight is more than one number a row.
void check_fields(std::span<const Field> fields, std::span<const int64_t> rows);

// The name of the i-th of `count` fields: "x", or "x0", "x1", ...
std::string field_name(std::string_view stem, size_t i, size_t count);

// The rows [first, first + count) of a slot, as a slot; of a slot without data, one without data.
Tensor rows_of(const Tensor& slot, int64_t first, int64_t count);

// How far back a source can go.
enum class Access {
  random,  // Any row at any time: perfect shuffling, exact resume.
  replay,  // From the start again, in the same order.
  once,    // Never again.
};

// Used by one thread at a time.
class Source {
 public:
  virtual ~Source() = default;

  // Inputs first, then targets, then at most one weight.
  virtual const std::vector<Field>& fields() const = 0;
  // Nullopt: not known before the end. Always known with random access.
  virtual std::optional<int64_t> rows() const = 0;
  virtual Access access() const = 0;

  // Random access: writes these rows of one field to `slot`, cast to its dtype. Throws DataError
  // that names the field, the row, the value and what was expected: a number that is not finite, a
  // label that the slot's type cannot hold.
  virtual void read(int field, std::span<const int64_t> rows, const Tensor& slot) = 0;

  // The same for all fields at once (slots in the order of fields; one without data is passed
  // over): a row that has to be decoded is decoded once.
  virtual void read_rows(std::span<const int64_t> rows, std::span<const Tensor> slots);

  // Another reader of the same rows with random access, for another thread: it shares what is only
  // looked at and has buffers of its own. Null where one thread must do. It gets a begin_pass() of
  // its own.
  virtual std::shared_ptr<Source> twin() { return nullptr; }

  // How many batches are worth reading on other threads while a step runs: 0 where the rows stand
  // in memory, kAsManyAsHelp for files.
  virtual int64_t batches_ahead() const { return 0; }
  static constexpr int64_t kAsManyAsHelp = -1;

  // The memory of rows [first, first + count) of a field, where it stands in memory with just this
  // dtype; else null. A source that lends one row of a field lends any stretch of it.
  virtual const void* borrow(int /*field*/, int64_t /*first*/, int64_t /*count*/, DType /*dtype*/) {
    return nullptr;
  }

  // Sequential access: writes up to `count` next rows of all fields to the slots (in the order of
  // fields) and says how many: fewer only at the end, then 0. A slot without data stands for a
  // field that the caller has no use for.
  virtual int64_t next(int64_t count, std::span<const Tensor> slots) = 0;
  // From the start again. Throws Error for a source that cannot (Access::once).
  virtual void restart() = 0;

  // A pass over the rows begins. Sources that order the rows of each pass anew take the order from
  // its number; in sequence, all but Access::once start again. One may begin, and another after it,
  // before all of its rows are read, or any.
  virtual void begin_pass(uint64_t pass);
  // Whether the row that has a number is another one in another pass.
  virtual bool reorders() const { return false; }
  // What the order of a pass depends on beside the seed and the pass, for people; a run that goes
  // on needs the same. Empty: nothing.
  virtual std::string order() const { return ""; }

  // Where a row stands, for messages: "x.npy: row 17", "adult.csv: line 19".
  virtual std::string place(int field, int64_t row);

  // What it holds as long as it lives, beside the caller's own arrays: for the plan.
  virtual size_t buffer_bytes() const { return 0; }
};
using SourcePtr = std::shared_ptr<Source>;

}  // namespace snug

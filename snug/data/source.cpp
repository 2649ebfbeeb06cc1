#include "snug/data/source.h"

#include <algorithm>

#include "snug/base/error.h"

namespace snug {

size_t size_of(StoredType type) {
  switch (type) {
    case StoredType::float16:
    case StoredType::int16:
    case StoredType::uint16:
      return 2;
    case StoredType::float32:
    case StoredType::int32:
    case StoredType::uint32:
      return 4;
    case StoredType::float64:
    case StoredType::int64:
    case StoredType::uint64:
      return 8;
    case StoredType::int8:
    case StoredType::uint8:
    case StoredType::boolean:
      return 1;
  }
  return 0;
}

std::string_view name_of(StoredType type) {
  constexpr std::string_view kNames[] = {"float16", "float32", "float64", "int8",
                                         "int16",   "int32",   "int64",   "uint8",
                                         "uint16",  "uint32",  "uint64",  "bool"};
  return kNames[static_cast<size_t>(type)];
}

StoredType stored_as(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return StoredType::float32;
    case DType::float64:
      return StoredType::float64;
    case DType::int32:
      return StoredType::int32;
    case DType::int64:
      return StoredType::int64;
    case DType::uint8:
      return StoredType::uint8;
    case DType::boolean:
      break;
  }
  return StoredType::boolean;
}

void check_fields(std::span<const Field> fields, std::span<const int64_t> rows) {
  SNUG_CHECK(fields.size() == rows.size());
  if (fields.empty()) throw Error("data: nothing was given to read; give at least an x");
  std::string counts;
  for (size_t i = 0; i < fields.size(); ++i) {
    const Field& field = fields[i];
    if (field.row.size() < 1) {
      throw Error("{}: a row has the shape {} and so no elements; give rows with elements",
                  field.name, field.row.text());
    }
    counts += fmt::format("{}{} has {}", i > 0 ? ", " : "", field.name, rows[i]);
  }
  if (std::ranges::any_of(rows, [&](int64_t count) { return count != rows[0]; })) {
    throw Error("data: all arrays need the same number of rows, but {}; give the same rows of each",
                counts);
  }
}

std::string field_name(std::string_view stem, size_t i, size_t count) {
  return count == 1 ? std::string(stem) : fmt::format("{}{}", stem, i);
}

Tensor rows_of(const Tensor& slot, int64_t first, int64_t count) {
  if (slot.data == nullptr) return {};
  const Shape row = slot.shape().part(1, slot.shape().rank());
  const size_t row_bytes = static_cast<size_t>(row.size()) * size_of(slot.dtype());
  Tensor part = slot;
  part.type.shape.set(0, count);
  part.data = static_cast<std::byte*>(slot.data) + static_cast<size_t>(first) * row_bytes;
  return part;
}

void Source::read_rows(std::span<const int64_t> rows, std::span<const Tensor> slots) {
  for (size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].data != nullptr) read(static_cast<int>(i), rows, slots[i]);
  }
}

std::string Source::place(int field, int64_t row) {
  return fmt::format("{}: row {}", fields()[field].name, row);
}

void Source::begin_pass(uint64_t /*pass*/) {
  if (access() != Access::once) restart();
}

}  // namespace snug

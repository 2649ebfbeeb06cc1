// Rows that stand in the caller's memory: borrowed, never copied whole, cast batch by batch.
#pragma once

#include <cstdint>
#include <type_traits>
#include <vector>

#include "snug/data/source.h"

namespace snug {

// A view on an array of rows that the caller keeps alive, and unchanged in size, while it is used.
struct Array {
  const void* data = nullptr;
  StoredType stored = StoredType::float32;
  Shape shape;  // Rows first: {1000, 28, 28}.

  Array() = default;
  template <typename T>
  Array(const T* data, const Shape& shape) : data(data), stored(stored_type<T>()), shape(shape) {}
  template <typename T>
  explicit Array(const std::vector<T>& values)
      : Array(values.data(), Shape{static_cast<int64_t>(values.size())}) {}

  template <typename T>
  static constexpr StoredType stored_type();
};

template <typename T>
constexpr StoredType Array::stored_type() {
  if constexpr (std::is_same_v<T, float>)
    return StoredType::float32;
  else if constexpr (std::is_same_v<T, double>)
    return StoredType::float64;
  else if constexpr (std::is_same_v<T, int8_t>)
    return StoredType::int8;
  else if constexpr (std::is_same_v<T, int16_t>)
    return StoredType::int16;
  else if constexpr (std::is_same_v<T, int32_t>)
    return StoredType::int32;
  else if constexpr (std::is_same_v<T, int64_t>)
    return StoredType::int64;
  else if constexpr (std::is_same_v<T, uint8_t>)
    return StoredType::uint8;
  else if constexpr (std::is_same_v<T, uint16_t>)
    return StoredType::uint16;
  else if constexpr (std::is_same_v<T, uint32_t>)
    return StoredType::uint32;
  else if constexpr (std::is_same_v<T, uint64_t>)
    return StoredType::uint64;
  else if constexpr (std::is_same_v<T, bool>)
    return StoredType::boolean;
  else
    static_assert(sizeof(T) == 0, "an array of numbers");
}

namespace data {

struct ArraysOptions {
  std::vector<Array> x, y;
  Array sample_weight;  // One number a row; empty: none.
};

// Throws Error, which names them, when the arrays do not have the same number of rows.
SourcePtr arrays(const ArraysOptions& options);
inline SourcePtr arrays(const Array& x, const Array& y) { return arrays({.x = {x}, .y = {y}}); }
inline SourcePtr arrays(const Array& x) { return arrays({.x = {x}, .y = {}}); }

}  // namespace data

}  // namespace snug

#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace snug {

// The element types of values. `boolean` is one byte, 0 or 1.
enum class DType : uint8_t { float32, float64, int32, int64, uint8, boolean };

size_t size_of(DType dtype);
std::string_view name_of(DType dtype);  // Keras's word: "float32", "bool", ...
inline bool is_float(DType dtype) { return dtype == DType::float32 || dtype == DType::float64; }

template <typename T>
inline constexpr DType kDType = DType::float32;
template <>
inline constexpr DType kDType<double> = DType::float64;
template <>
inline constexpr DType kDType<int32_t> = DType::int32;
template <>
inline constexpr DType kDType<int64_t> = DType::int64;
template <>
inline constexpr DType kDType<uint8_t> = DType::uint8;
template <>
inline constexpr DType kDType<bool> = DType::boolean;

}  // namespace snug

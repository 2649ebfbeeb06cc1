#include "snug/data/stage.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "snug/base/error.h"
#include "snug/kernels/convert.h"

namespace snug {
namespace {

// Calls visit with a typed pointer to the stored elements.
template <typename Visit>
auto typed(const void* from, StoredType stored, const Visit& visit) {
  switch (stored) {
    case StoredType::float16:
      return visit(static_cast<const kernels::Half*>(from));
    case StoredType::float32:
      return visit(static_cast<const float*>(from));
    case StoredType::float64:
      return visit(static_cast<const double*>(from));
    case StoredType::int8:
      return visit(static_cast<const int8_t*>(from));
    case StoredType::int16:
      return visit(static_cast<const int16_t*>(from));
    case StoredType::int32:
      return visit(static_cast<const int32_t*>(from));
    case StoredType::int64:
      return visit(static_cast<const int64_t*>(from));
    case StoredType::uint8:
      return visit(static_cast<const uint8_t*>(from));
    case StoredType::uint16:
      return visit(static_cast<const uint16_t*>(from));
    case StoredType::uint32:
      return visit(static_cast<const uint32_t*>(from));
    case StoredType::uint64:
      return visit(static_cast<const uint64_t*>(from));
    case StoredType::boolean:
      break;
  }
  return visit(static_cast<const bool*>(from));
}

float as_float(kernels::Half half) {
  float value = 0;
  kernels::convert(&half, &value, 1);
  return value;
}
template <typename T>
T as_float(T value) {
  return value;
}

std::optional<int64_t> to_floats(const void* from, StoredType stored, int64_t count, float* to) {
  typed(from, stored, [&](const auto* elements) { kernels::convert(elements, to, count); });
  const bool may_overflow = stored == StoredType::float16 || stored == StoredType::float32 ||
                            stored == StoredType::float64;
  if (!may_overflow) return std::nullopt;
  // x - x is 0 for every finite x and NaN otherwise: a sum that the compiler can vectorise.
  float sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += to[i] - to[i];
  if (sum == 0) return std::nullopt;
  int64_t first = 0;
  while (std::isfinite(to[first])) ++first;
  return first;
}

template <typename To>
std::optional<int64_t> to_integers(const void* from, StoredType stored, int64_t count, To* to) {
  return typed(from, stored, [&](const auto* elements) -> std::optional<int64_t> {
    for (int64_t i = 0; i < count; ++i) {
      const auto value = as_float(elements[i]);
      using Value = std::remove_const_t<decltype(value)>;
      if constexpr (std::is_floating_point_v<Value>) {
        constexpr auto kLow = static_cast<double>(std::numeric_limits<To>::min());
        constexpr auto kHigh = static_cast<double>(std::numeric_limits<To>::max());
        const auto wide = static_cast<double>(value);
        if (!(wide >= kLow && wide <= kHigh && wide == std::floor(wide))) return i;
      } else if constexpr (!std::is_same_v<Value, bool>) {
        if (!std::in_range<To>(value)) return i;
      }
      to[i] = static_cast<To>(value);
    }
    return std::nullopt;
  });
}

}  // namespace

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

std::optional<int64_t> stage(const void* from, StoredType stored, int64_t count, void* to,
                             DType dtype) {
  switch (dtype) {
    case DType::float32:
      return to_floats(from, stored, count, static_cast<float*>(to));
    case DType::int32:
      return to_integers(from, stored, count, static_cast<int32_t*>(to));
    case DType::int64:
      return to_integers(from, stored, count, static_cast<int64_t*>(to));
    case DType::uint8:
    case DType::boolean:
      return to_integers(from, stored, count, static_cast<uint8_t*>(to));
    case DType::float64:
      break;
  }
  throw InternalError("no slot is {}", name_of(dtype));
}

std::string element_text(const void* from, StoredType stored, int64_t index) {
  return typed(from, stored,
               [&](const auto* elements) { return fmt::format("{}", as_float(elements[index])); });
}

void refuse_element(const Field& field, int64_t row, int64_t index_in_row, const std::string& value,
                    DType wanted) {
  const bool number = wanted == DType::float32;
  throw DataError("{}: row {}, position {} is {}, but {} was expected; mend or drop the row",
                  field.name, row, index_in_row, value,
                  number ? "a finite number" : "a whole number");
}

}  // namespace snug

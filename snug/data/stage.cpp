#include "snug/data/stage.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "snug/base/error.h"
#include "snug/kernels/convert.h"

namespace snug {
namespace {

// A stored bool: files may hold any byte, which a C++ bool may not.
struct Truth {
  uint8_t byte;
};

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
  return visit(static_cast<const Truth*>(from));
}

float number(kernels::Half half) {
  float value = 0;
  kernels::convert(&half, &value, 1);
  return value;
}
int number(Truth truth) { return truth.byte != 0 ? 1 : 0; }
int number(int8_t value) { return value; }
template <typename T>
T number(T value) {
  return value;
}

template <typename From>
void to_floats(const From* from, float* to, int64_t count) {
  kernels::convert(from, to, count);
}
void to_floats(const Truth* from, float* to, int64_t count) {
  kernels::convert(reinterpret_cast<const bool*>(from), to, count);
}

bool is_finite(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return (bits & 0x7f800000u) != 0x7f800000u;
}

// By bits, because the compiler vectorises it: a sum of floats has to keep its order.
bool all_finite(const float* values, int64_t count) {
  uint32_t bad = 0;
  for (int64_t i = 0; i < count; ++i) bad |= static_cast<uint32_t>(!is_finite(values[i]));
  return bad == 0;
}

// Block by block, so that the check finds the block in the cache.
std::optional<int64_t> stage_floats(const void* from, StoredType stored, int64_t count, float* to) {
  constexpr int64_t kBlock = 4096;
  const bool may_overflow = stored == StoredType::float16 || stored == StoredType::float32 ||
                            stored == StoredType::float64;
  for (int64_t begin = 0; begin < count; begin += kBlock) {
    const int64_t size = std::min(kBlock, count - begin);
    if (from != to) {
      typed(from, stored,
            [&](const auto* elements) { to_floats(elements + begin, to + begin, size); });
    }
    if (may_overflow && !all_finite(to + begin, size)) {
      return std::find_if_not(to + begin, to + begin + size, is_finite) - to;
    }
  }
  return std::nullopt;
}

template <typename To, typename Value>
bool holds(Value value) {
  if constexpr (std::is_floating_point_v<Value>) {
    const double low = static_cast<double>(std::numeric_limits<To>::min());
    const double end = std::ldexp(1.0, std::numeric_limits<To>::digits);
    const auto wide = static_cast<double>(value);
    return wide >= low && wide < end && wide == std::floor(wide);
  } else {
    return std::in_range<To>(value);
  }
}

template <typename To>
std::optional<int64_t> stage_integers(const void* from, StoredType stored, int64_t count, To* to) {
  return typed(from, stored, [&](const auto* elements) -> std::optional<int64_t> {
    for (int64_t i = 0; i < count; ++i) {
      const auto value = number(elements[i]);
      if (!holds<To>(value)) return i;
      to[i] = static_cast<To>(value);
    }
    return std::nullopt;
  });
}

std::optional<int64_t> stage_truths(const void* from, StoredType stored, int64_t count,
                                    uint8_t* to) {
  return typed(from, stored, [&](const auto* elements) -> std::optional<int64_t> {
    for (int64_t i = 0; i < count; ++i) {
      const auto value = number(elements[i]);
      if (value != 0 && value != 1) return i;
      to[i] = static_cast<uint8_t>(value);
    }
    return std::nullopt;
  });
}

std::string expectation(const std::string& value, DType wanted) {
  switch (wanted) {
    case DType::float32:
      if (value.ends_with("nan") || value.ends_with("inf")) return "a finite number";
      return "a number that float32 holds, up to 3.4e38,";
    case DType::boolean:
      return "0 or 1";
    default:
      return fmt::format("a whole number that {} holds", name_of(wanted));
  }
}

// Where an element stands in its row: nothing, a column, or an index.
std::string place_in(const Shape& row, int64_t index) {
  if (row.rank() == 0) return "";
  if (row.rank() == 1) return fmt::format(", column {}", index);
  Shape place = row;
  for (int axis = row.rank() - 1; axis >= 0; --axis) {
    place.set(axis, index % row[axis]);
    index /= row[axis];
  }
  return fmt::format(", element {}", place.text());
}

}  // namespace

std::optional<int64_t> stage(const void* from, StoredType stored, int64_t count, void* to,
                             DType dtype) {
  switch (dtype) {
    case DType::float32:
      return stage_floats(from, stored, count, static_cast<float*>(to));
    case DType::int32:
      return stage_integers(from, stored, count, static_cast<int32_t*>(to));
    case DType::int64:
      return stage_integers(from, stored, count, static_cast<int64_t*>(to));
    case DType::uint8:
      return stage_integers(from, stored, count, static_cast<uint8_t*>(to));
    case DType::boolean:
      return stage_truths(from, stored, count, static_cast<uint8_t*>(to));
    case DType::float64:
      break;
  }
  throw InternalError("no slot is {}", name_of(dtype));
}

bool is_same(StoredType stored, DType dtype) {
  return (stored == StoredType::float32 && dtype == DType::float32) ||
         (stored == StoredType::int32 && dtype == DType::int32) ||
         (stored == StoredType::int64 && dtype == DType::int64) ||
         (stored == StoredType::uint8 && dtype == DType::uint8);
}

std::string element_text(const void* from, StoredType stored, int64_t index) {
  return typed(from, stored,
               [&](const auto* elements) { return fmt::format("{}", number(elements[index])); });
}

std::string mending(const Field& field, std::string_view value, DType wanted) {
  const bool amount = field.role == FieldRole::target && wanted == DType::int32 &&
                      value.find('.') != std::string_view::npos;
  return amount ? "mend or drop the row, or, for amounts, use a loss such as mse: this one takes "
                  "numbers of classes"
                : "mend or drop the row";
}

void refuse_element(const Field& field, int64_t row, int64_t index_in_row, const std::string& value,
                    DType wanted) {
  throw DataError("{}: row {}{} is {}, but {} was expected; {}", field.name, row,
                  place_in(field.row, index_in_row), value, expectation(value, wanted),
                  mending(field, value, wanted));
}

void stage_rows(const Field& field, ElementPlace first, const void* from, int64_t count, void* to,
                DType dtype) {
  const std::optional<int64_t> bad = stage(from, field.stored, count, to, dtype);
  if (!bad) return;
  const int64_t index = first.index + *bad, elements = field.row.size();
  refuse_element(field, first.row + index / elements, index % elements,
                 element_text(from, field.stored, *bad), dtype);
}

}  // namespace snug

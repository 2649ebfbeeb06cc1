// How stored elements become a slot's: cast, and checked on the way.
#pragma once

#include <optional>
#include <string>

#include "snug/data/source.h"

namespace snug {

// Writes `count` elements to `to`. Returns the index of the first that the slot cannot take: a
// float that is not finite, a number that is no int32 where labels or indices are wanted. The slot
// then holds rubbish.
std::optional<int64_t> stage(const void* from, StoredType stored, int64_t count, void* to,
                             DType dtype);

// The element as text, for messages: "nan", "3.5", "-7".
std::string element_text(const void* from, StoredType stored, int64_t index);

// Throws DataError for an element of a field that could not be staged: names field, row, position
// in the row, value and what was expected.
[[noreturn]] void refuse_element(const Field& field, int64_t row, int64_t index_in_row,
                                 const std::string& value, DType wanted);

}  // namespace snug

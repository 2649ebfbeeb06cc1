// How stored elements become a slot's: cast, and checked on the way.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "snug/data/source.h"

namespace snug {

// Writes `count` elements to `to`, which may be `from` when nothing is to be cast. Returns the
// index of the first that the slot cannot take: a float that is not finite or too large for
// float32, a number that is no int32 where labels or indices are wanted. The slot then holds
// rubbish.
std::optional<int64_t> stage(const void* from, StoredType stored, int64_t count, void* to,
                             DType dtype);

// Whether the elements need no cast: a stored float32 in a float32 slot.
bool is_same(StoredType stored, DType dtype);

// The element as text, for messages: "nan", "3.5", "-7".
std::string element_text(const void* from, StoredType stored, int64_t index);

// What to do about such an element: a target with a fraction is none of a class.
std::string mending(const Field& field, std::string_view value, DType wanted);

// Throws DataError for an element of a field that could not be staged: names field, row, position
// in the row, value and what was expected. Rows and positions are counted from 0.
[[noreturn]] void refuse_element(const Field& field, int64_t row, int64_t index_in_row,
                                 const std::string& value, DType wanted);

// Where an element of a field stands, counted from 0.
struct ElementPlace {
  int64_t row = 0;
  int64_t index = 0;  // In its row.
};

// stage() for elements of a field from `first` on, with refuse_element() for the first bad one.
void stage_rows(const Field& field, ElementPlace first, const void* from, int64_t count, void* to,
                DType dtype);

}  // namespace snug

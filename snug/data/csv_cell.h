// What the text of a cell means.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace snug {

// Whether a cell says that there is nothing: blank, ?, NA, N/A, NaN, null, None and the like.
bool is_missing(std::string_view cell);

// The number that a cell is but for blanks around it; inf for a larger one. Nullopt: it is none.
std::optional<double> number_of(std::string_view cell);

bool is_utf8(std::string_view text);

// In quotes and cut to 40 bytes, what cannot be printed as \xNN: for messages.
std::string in_quotes(std::string_view cell);

// A name as a key of a run file, in quotes where it needs them: age, "shop: city".
std::string yaml_key(std::string_view name);

}  // namespace snug

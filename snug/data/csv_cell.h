// What the text of a cell means.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace snug {

// Whether a cell says that there is nothing: empty, ?, NA, N/A, NaN, null, None and the like.
bool is_missing(std::string_view cell);

// The number that all of the cell is, as float64; inf for what is larger. Nullopt: it is none.
std::optional<double> number_of(std::string_view cell);

// The number that stands at the start of a text, when it is a plain one (digits, a sign, a point)
// of at most 15 digits: then the float64 is exact to the last bit, as number_of() has it. Returns
// where it ends; null for any other text.
inline const char* plain_number(const char* from, const char* to, double& value) {
  static constexpr double kPowers[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                       1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
  const bool negative = from < to && *from == '-';
  const char* at = from + (negative ? 1 : 0);
  const char* const digits = at;
  uint64_t mantissa = 0;
  const auto digit = [&] { return static_cast<unsigned>(static_cast<unsigned char>(*at) - '0'); };
  for (; at < to && digit() < 10; ++at) mantissa = mantissa * 10 + digit();
  int64_t count = at - digits, places = 0;
  if (at < to && *at == '.') {
    const char* const point = at++;
    for (; at < to && digit() < 10; ++at) mantissa = mantissa * 10 + digit();
    places = at - point - 1;
    count += places;
  }
  if (count == 0 || count > 15) return nullptr;
  // Both are exact, so the quotient is the nearest number.
  const auto whole = static_cast<double>(mantissa);
  const double magnitude = places == 0 ? whole : whole / kPowers[places];
  value = negative ? -magnitude : magnitude;
  return at;
}

bool is_utf8(std::string_view text);

// In quotes and cut to 40 bytes, what cannot be printed as \xNN: for messages.
std::string in_quotes(std::string_view cell);

}  // namespace snug

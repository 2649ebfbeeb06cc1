#include "snug/base/bytes.h"

#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>

#include "snug/base/error.h"

namespace snug {
namespace {

constexpr double kEndOfInt64 = 9223372036854775808.0;
constexpr std::string_view kLetters = "kmgtpe";

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// The bytes of one unit: "", "b", "k", "kb", "kib", ...
std::optional<int64_t> unit_bytes(std::string_view unit) {
  std::string lower;
  for (const char c : unit) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  if (lower.empty() || lower == "b") return 1;
  const size_t power = kLetters.find(lower[0]);
  if (power == std::string_view::npos) return std::nullopt;
  const std::string_view rest = std::string_view(lower).substr(1);
  if (!rest.empty() && rest != "b" && rest != "ib") return std::nullopt;
  int64_t result = 1;
  for (size_t i = 0; i <= power; ++i) result *= rest == "b" ? 1000 : 1024;
  return result;
}

// Whole numbers are multiplied as integers, so that none of their digits is lost.
std::optional<int64_t> whole_product(std::string_view number, int64_t unit) {
  int64_t count = 0;
  const auto [end, error] = std::from_chars(number.begin(), number.end(), count);
  int64_t bytes = 0;
  if (error != std::errc() || end != number.end()) return std::nullopt;
  if (__builtin_mul_overflow(count, unit, &bytes)) return std::nullopt;
  return bytes;
}

std::optional<int64_t> fractional_product(std::string_view number, int64_t unit) {
  double count = 0;
  const auto [end, error] =
      std::from_chars(number.begin(), number.end(), count, std::chars_format::fixed);
  if (error != std::errc() || end != number.end() || unit == 1) return std::nullopt;
  const double bytes = std::floor(count * static_cast<double>(unit));
  if (!(bytes < kEndOfInt64)) return std::nullopt;
  return static_cast<int64_t>(bytes);
}

}  // namespace

int64_t parse_bytes(std::string_view text, std::string_view where) {
  const std::string_view all = trimmed(text);
  const size_t digits = std::min(all.find_first_not_of("0123456789."), all.size());
  const std::string_view number = all.substr(0, digits);
  const std::optional<int64_t> unit = unit_bytes(trimmed(all.substr(digits)));
  if (!number.empty() && unit) {
    const bool whole = number.find('.') == std::string_view::npos;
    const auto bytes = whole ? whole_product(number, *unit) : fractional_product(number, *unit);
    if (bytes) return *bytes;
  }
  throw Error(
      "{}: '{}' is not a number of bytes below 8 EiB; write it as 256MiB, 64 MB, 1.5GiB, 2G or "
      "1024",
      where, text);
}

std::string bytes_text(int64_t bytes, Rounding rounding) {
  constexpr std::array kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes > -1024 && bytes < 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  const auto tenths = [&] {
    return rounding == Rounding::up ? std::ceil(value * 10) : std::round(value * 10);
  };
  // 1023.96 KiB would be printed as 1024.0 KiB: compare what is printed.
  for (; std::abs(tenths()) >= 10240 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  return fmt::format("{:.1f} {}", tenths() / 10, kUnits[unit]);
}

}  // namespace snug

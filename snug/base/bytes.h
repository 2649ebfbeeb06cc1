// Numbers of bytes as people write and read them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace snug {

constexpr int64_t operator""_KiB(unsigned long long n) { return static_cast<int64_t>(n << 10); }
constexpr int64_t operator""_MiB(unsigned long long n) { return static_cast<int64_t>(n << 20); }
constexpr int64_t operator""_GiB(unsigned long long n) { return static_cast<int64_t>(n << 30); }

// Reads "256MiB", "64 MB", "1.5GiB", "2G" or "1024", in capitals or not. KiB and K are 1024 bytes,
// KB is 1000, as in the GNU tools. A fraction of a byte is dropped. Throws Error, which begins with
// `where`, on anything else.
int64_t parse_bytes(std::string_view text, std::string_view where = "bytes");

enum class Rounding { nearest, up };

// "512 B", "12.3 MiB", "1.5 GiB": one digit behind the point. With `up`, parse_bytes of the result
// is never less than `bytes`, so that the least budget that works can be printed and typed in
// again.
std::string bytes_text(int64_t bytes, Rounding rounding = Rounding::nearest);

}  // namespace snug

#pragma once

#include <cstdint>
#include <string>

namespace snug {

// "640 B", "12.5 KiB", "3.02 MiB": three digits, for people.
std::string bytes_text(int64_t bytes);

}  // namespace snug

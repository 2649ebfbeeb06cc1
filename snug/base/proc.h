// The text files in which the kernel reports numbers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace snug {

// All lines of a file; none if it cannot be read.
std::vector<std::string> lines_of(const std::filesystem::path& path);

// The words of a line, between blanks.
std::vector<std::string> words_of(std::string_view line);

// The first number behind `key` on the line whose first word is `key`, as in "VmRSS:   1234 kB"
// (times 1024, because of the kB) or "inactive_file 4096".
std::optional<int64_t> number_after(const std::vector<std::string>& lines, std::string_view key);

// The number that is all of a file, or empty: for a missing file and for words such as "max".
std::optional<int64_t> number_in(const std::filesystem::path& path);

}  // namespace snug

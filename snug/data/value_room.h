// How much of the different values of each column of a table is held while they are counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace snug {

// What a column's values are wanted for.
enum class ValueUse : uint8_t { nothing, numbers, texts, label };

// Bytes for each column, 8 MiB in all and 256 KiB at most: labels have theirs before others, and
// texts more than numbers, of which no model needs a list.
std::vector<size_t> value_rooms(std::span<const ValueUse> uses);

}  // namespace snug

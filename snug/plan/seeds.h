// Sequences from which the search for a cheap one begins.
#pragma once

#include <cstdint>
#include <vector>

#include "snug/plan/timeline.h"

namespace snug {

// Each keeps across the fullest moment what is worth keeping there, and makes the rest again when
// it is needed. They differ in how much room they leave for what is made again, and in how many
// places of the program before that moment are held whole, so that no chain that is made again is
// longer than the stretch between two of them. None of them needs to hold the limit.
std::vector<std::vector<int>> seeds(const Timeline& program, int64_t limit, int64_t& work);

// The program, in which every value that can be read back from the file is, before each reader, if
// it waited where the program is above the limit.
std::vector<int> all_read_back(const Timeline& program, int64_t limit);

}  // namespace snug

// What to do about labels that a loss cannot take.
#pragma once

#include <cstdint>
#include <string>

namespace snug {

// About a number of a class that is none of 0 .. classes - 1.
std::string advice_on_label(int64_t label, int64_t classes);
// About a label below 0 or above 1 where it is taken for a probability.
std::string advice_on_probability(double label);

}  // namespace snug

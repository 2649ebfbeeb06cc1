#pragma once

#include <span>
#include <string_view>

namespace snug {

// Which of the words the user most likely meant: the one that takes the fewest typing mistakes
// (letters left out, added, changed or swapped with their neighbour) to become `word`. Capitals and
// underscores do not count. The first of equals; `words` is not empty.
std::string_view nearest_word(std::string_view word, std::span<const std::string_view> words);

// Whether they differ in capitals and underscores at most: "MaxPooling2D" and "max_pooling2d".
bool same_word(std::string_view a, std::string_view b);

}  // namespace snug

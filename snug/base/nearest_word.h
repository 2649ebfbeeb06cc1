#pragma once

#include <span>
#include <string>
#include <string_view>

namespace snug {

// Which of the words the user most likely meant: the one that takes the fewest typing mistakes
// (letters left out, added, changed or swapped with their neighbour) to become `word`. Capitals and
// underscores do not count. The first of equals. Empty where nobody can have meant any of them:
// more than a third of the letters differ, and neither word is a part of the other.
std::string_view nearest_word(std::string_view word, std::span<const std::string_view> words);

// What to say of a word that is none of `words`: `did you mean "relu"?`, or else which there are,
// where they are few. `quote` stands around a word.
std::string did_you_mean(std::string_view word, std::span<const std::string_view> words,
                         std::string_view quote = "\"");
// The same with the nearest one found, perhaps in another spelling; empty: there is none.
std::string suggested(std::string_view nearest, std::span<const std::string_view> words,
                      std::string_view quote = "\"");

// Whether they differ in capitals and underscores at most: "MaxPooling2D" and "max_pooling2d".
bool same_word(std::string_view a, std::string_view b);

}  // namespace snug

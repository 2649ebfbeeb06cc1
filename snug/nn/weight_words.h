// The words that make_initializer and make_regularizer know.
#pragma once

#include <string_view>
#include <vector>

namespace snug {

std::vector<std::string_view> initializer_words();
std::vector<std::string_view> regularizer_words();

}  // namespace snug

// The words that make_optimizer knows, and the class names that make_schedule knows.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace snug {

std::vector<std::string_view> optimizer_words();
std::span<const std::string_view> schedule_classes();

}  // namespace snug

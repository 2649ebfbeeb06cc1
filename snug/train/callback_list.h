// The class names that make_callback knows.
#pragma once

#include <string_view>
#include <vector>

namespace snug {

std::vector<std::string_view> callback_classes();

}  // namespace snug

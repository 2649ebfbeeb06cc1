// What the arrays of a file are called that need not be named.
#pragma once

#include <array>
#include <string_view>

namespace snug {

// The first one that is there is taken.
inline constexpr std::array<std::string_view, 6> kInputNames = {"x",      "x_train", "features",
                                                                "inputs", "images",  "data"};
inline constexpr std::array<std::string_view, 5> kTargetNames = {"y", "y_train", "labels",
                                                                 "targets", "label"};

}  // namespace snug

// What the section fit of a run file has, for who lists it.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "snug/base/settings.h"

namespace snug::cli {

// The settings of fit, guard and checkpoint that are plain numbers and words, with their defaults;
// each by its class_name.
std::vector<ConfigurablePtr> plain_fit_settings();
// The keys of fit beside these, which have a form of their own.
std::span<const std::string_view> other_fit_settings();

}  // namespace snug::cli

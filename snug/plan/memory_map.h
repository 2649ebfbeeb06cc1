// The plan as a picture: lifetimes across, addresses up.
#pragma once

#include <string>

#include "snug/plan/plan.h"

namespace snug {

// One self-contained page: every buffer a box from its first step to its last, coloured by kind,
// named when pointed at; the peak is marked.
std::string memory_map_html(const Problem& problem, const Plan& plan, const std::string& title);

}  // namespace snug

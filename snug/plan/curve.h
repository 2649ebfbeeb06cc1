// Step time against the budget, as text and as a picture.
#pragma once

#include <span>
#include <string>

#include "snug/plan/fit_budget.h"

namespace snug {

// The point beyond which more memory brings little: the farthest below the line between the ends.
size_t knee_of(std::span<const CurvePoint> curve);

// A line a point.
std::string curve_text(std::span<const CurvePoint> curve);
// A picture for a browser.
std::string curve_svg(std::span<const CurvePoint> curve, const std::string& title);

}  // namespace snug

// How large the numbers of a file may be before anything is computed from them.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "snug/nn/layer.h"

namespace snug {

inline constexpr int64_t kLargestSetting = int64_t{1} << 31;
inline constexpr int64_t kMostElements = int64_t{1} << 40;

// Whether the product of the numbers, zeros left out, is at most kMostElements.
bool is_countable(std::span<const int64_t> extents);

// Throws Error, beginning with `where`, when one of the layer's weights or of these symbols has
// more elements.
void expect_countable(const LayerDefinition& layer, const Symbols& symbols,
                      const std::string& where);

}  // namespace snug

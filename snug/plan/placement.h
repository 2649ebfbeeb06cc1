// Offsets for buffers with fixed lifetimes: as low as can be found.
#pragma once

#include <cstdint>
#include <span>

#include "snug/plan/packer.h"

namespace snug {

// The most bytes that live at one step: no placement is lower.
int64_t max_live(std::span<const Item> items);

// Tries packers in many orders until the height is max_live, then moves the items that stick out to
// earlier places in the best order. Past the first, cheap tries it stops at any height up to
// `capacity`. Deterministic.
Placement place(std::span<const Item> items, int64_t capacity);

}  // namespace snug

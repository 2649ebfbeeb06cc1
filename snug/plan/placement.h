// Offsets for buffers with fixed lifetimes: as low as can be found.
#pragma once

#include <cstdint>
#include <span>

#include "snug/plan/exact_placement.h"
#include "snug/plan/packer.h"

namespace snug {

// The most bytes that live at one step: no placement is lower.
int64_t max_live(std::span<const Item> items);

// lowest: as low as can be found, and within the capacity above all. capacity: any height within
// it. quickly: the same, with a tenth of the work. patiently: with three times as much.
enum class Aim { lowest, capacity, quickly, patiently };

// Tries packers in many orders; then the exact search, on the hot window if there are many items;
// then moves the items that stick out to earlier places in the best order. Deterministic.
Placement place(std::span<const Item> items, int64_t capacity, Aim aim = Aim::lowest);

// The exact search on the items that live at the fullest moments, all others packed around them; on
// more and more items until it is found, shown to be impossible, or the work is spent.
ExactPlacement place_hot_window(std::span<const Item> items, int64_t capacity, int64_t max_work);

}  // namespace snug

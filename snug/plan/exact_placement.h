// A complete search for a placement within a capacity.
#pragma once

#include <cstdint>
#include <span>

#include "snug/plan/packer.h"

namespace snug {

enum class Outcome { found, impossible, gave_up };

struct ExactPlacement {
  Outcome outcome = Outcome::gave_up;
  Placement placement;  // When found.
  int64_t work = 0;     // Machine words looked at: the same on every machine.
};

// Finds offsets for all items within the capacity, shows that there are none, or gives up after
// `max_work`. It is made for some hundreds of items that nearly fill the capacity. Deterministic.
ExactPlacement place_exactly(std::span<const Item> items, int64_t capacity, int64_t max_work);

}  // namespace snug

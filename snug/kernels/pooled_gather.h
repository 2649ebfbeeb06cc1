// The gradient of a 3 x 3 kernel from that of the 2 x 2 max pooling of its result. A window passes
// its gradient on to one of four results; the nine pixels under that one are picked from the 4 x 4
// under all four, so a quarter of the products of the whole gradient is made.
#pragma once

#include "snug/kernels/pooled_windows.h"

namespace snug {

// Whether it is ahead of the whole gradient on this machine: pixels are picked from a register of
// sixteen.
bool picks_pixels();
// Filters come in so many.
constexpr int64_t kPickedFilters = 16;

// dw is cut into so many tasks, which can be computed apart.
int64_t picked_tasks(const WindowBand& band);
// Tasks [first, last) of dw [3, 3, channels, filters] and dbias [filters], which may be null, from
// the places of the winners and the gradient of the pooled rows, both [rows, columns, filters].
// Added to what is there, or overwriting it.
void picked_weights(const WindowBand& band, const uint8_t* places, const float* dy, int64_t first,
                    int64_t last, bool add, float* dw, float* dbias) noexcept;

}  // namespace snug

// The heap of this process beside what is in use.
#pragma once

namespace snug {

// Gives free memory of the heap back to the system, so that what is resident is what is in use:
// also the small blocks that the calling thread keeps for itself.
void release_free_heap();

// The resident peak counts from now on. For a program that owns its process.
void forget_peak();

}  // namespace snug

// The heap of this process beside what is in use.
#pragma once

#include <cstdint>

namespace snug {

// Gives free memory of the heap back to the system, so that what is resident is what is in use:
// also the small blocks that the calling thread keeps for itself.
void release_free_heap();

// The same where much is free: a small heap stays as it is, which takes microseconds and no thread.
void release_large_free_heap();

// Resident memory, but of the heap what is in use: how free blocks stand between the others, and so
// hold pages, depends on all that was done before. Only what it grows by is meant to be read. Call
// release_free_heap() before. Where the heap does not say what is in use, all of it counts.
int64_t resident_in_use();

// All threads take their memory from one heap, from now on: which of them did a piece of work, and
// so has a heap of its own of half a MiB or more, is chance. For a program that owns its process,
// before its first thread.
void use_one_heap();

// The resident peak counts from now on. For a program that owns its process.
void forget_peak();

}  // namespace snug

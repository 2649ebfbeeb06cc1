// Counts what the whole process asks of the heap.
#pragma once

#include <cstddef>
#include <cstdint>

namespace snug::testing {

struct Allocations {
  int64_t count = 0;
  int64_t bytes = 0;
};

// Whether this build counts: the sanitizers bring a heap of their own.
bool allocations_are_counted();

// From start to stop, on all threads.
void start_counting_allocations();
Allocations stop_counting_allocations();

}  // namespace snug::testing

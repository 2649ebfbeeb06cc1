// Rows that several threads work on, one of which may be bad.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>

#include "snug/base/threads.h"

namespace snug {

// Calls body(lane, i) for i = 0 .. count-1 on up to `lanes` threads; each takes the next one that
// nobody has. When some throw, what the first of them threw is thrown, whatever the threads did:
// all before it were taken. Allocates nothing.
template <typename Body>
void parallel_rows(int lanes, int64_t count, const Body& body) {
  lanes = static_cast<int>(std::min<int64_t>(lanes, count));
  if (lanes <= 1) {
    for (int64_t i = 0; i < count; ++i) body(0, i);
    return;
  }
  std::atomic<int64_t> next = 0;
  std::mutex mutex;
  int64_t bad = count;
  std::exception_ptr error;
  parallel_parts(lanes, [&](int lane) {
    for (int64_t i = next++; i < count; i = next++) {
      try {
        body(lane, i);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (i < bad) error = std::current_exception();
        bad = std::min(bad, i);
        return;
      }
    }
  });
  if (error) std::rethrow_exception(error);
}

}  // namespace snug

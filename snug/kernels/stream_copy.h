// A copy that leaves the caches to what is computed next.
#pragma once

#include <cstddef>

namespace snug::kernels {

// memcpy for what is written once and read much later, perhaps by another thread: the lines of `to`
// are not fetched first, which takes long where another core has them, and do not stay in the
// caches. `to` is aligned to 64 bytes. Ends with stream_end().
void stream_copy(void* to, const void* from, size_t bytes) noexcept;

// After the last of some copies: threads that see what is written from now on see the copies.
void stream_end() noexcept;

}  // namespace snug::kernels

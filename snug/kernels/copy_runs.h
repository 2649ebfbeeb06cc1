// Copies of runs of bytes that stand apart.
#pragma once

#include <cstddef>
#include <cstdint>

namespace snug::kernels {

// Where runs begin, and how many bytes from one to the next.
template <class Byte>
struct Runs {
  Byte* first;
  int64_t step;
};

// Copies `count` runs of `bytes` bytes each. None may overlap a run of the other side. With
// `past_caches`, runs that are made of whole lines are written around the caches; stream_end()
// (stream_copy.h) must follow before another thread reads them.
void copy_runs(const Runs<const std::byte>& from, const Runs<std::byte>& to, int64_t bytes,
               int64_t count, bool past_caches = false) noexcept;

}  // namespace snug::kernels

// Copies of boxes between layouts: transpose, slice, pad and concat are all one of these.
#pragma once

#include <cstddef>
#include <cstdint>

namespace snug::kernels {

// A box of up to 8 axes; strides count elements and may be 0 (repeat) on the from side or negative.
struct Box {
  int axes = 0;
  int64_t extents[8] = {};
  int64_t from_strides[8] = {};
  int64_t to_strides[8] = {};
  // What is written is too large to be found in a cache again: whole lines go around the caches,
  // which spares reading them first (Sapphire Rapids, from 32 MiB on: 0.7 of the time of a copy,
  // and 0.8 of a copy and the pass that reads it; at 16 MiB 1.07 of these).
  bool past_caches = false;
};
inline constexpr int64_t kPastCachesBytes = 24 << 20;

// to[sum i_k * to_strides[k]] = from[sum i_k * from_strides[k]] for every index of the box, which
// must not overlap itself. `element_bytes` is 1, 2, 4 or 8.
void copy_box(const Box& box, const void* from, void* to, size_t element_bytes) noexcept;

// The box that turns a contiguous array of `extents` into one whose axis k is axis order[k].
Box transpose_box(int axes, const int64_t* extents, const int* order) noexcept;

// to[n] = value.
void fill(float value, float* to, int64_t n) noexcept;

// y = x[rows, columns] turned into [columns, rows].
void transpose(const float* x, float* y, int64_t rows, int64_t columns) noexcept;

}  // namespace snug::kernels

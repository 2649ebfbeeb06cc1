#include "snug/kernels/strided.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "snug/kernels/copy_runs.h"
#include "snug/kernels/stream_copy.h"
#include "snug/kernels/transpose.h"

namespace snug::kernels {
namespace {

struct Axis {
  int64_t extent;
  int64_t from;
  int64_t to;
};

// The axes of a box in the order of the target, with neighbours that run on in both layouts merged:
// the fewest, longest loops that do the same.
struct Axes {
  Axis axis[8];
  int count = 0;
  bool empty = false;
  bool past_caches = false;

  explicit Axes(const Box& box) : past_caches(box.past_caches) {
    for (int k = 0; k < box.axes; ++k) {
      if (box.extents[k] == 0) empty = true;
      if (box.extents[k] != 1) add({box.extents[k], box.from_strides[k], box.to_strides[k]});
    }
    merge();
  }

  const Axis& inner() const { return axis[count - 1]; }

 private:
  // Sorted insertion, widest steps of the target first; no library sort, which may allocate.
  void add(const Axis& added) {
    int at = count++;
    for (; at > 0 && std::abs(axis[at - 1].to) < std::abs(added.to); --at) axis[at] = axis[at - 1];
    axis[at] = added;
  }

  void merge() {
    int kept = 0;
    for (int k = 1; k < count; ++k) {
      Axis& outer = axis[kept];
      const Axis& next = axis[k];
      if (outer.from == next.extent * next.from && outer.to == next.extent * next.to) {
        outer = {outer.extent * next.extent, next.from, next.to};
      } else {
        axis[++kept] = next;
      }
    }
    if (count > 0) count = kept + 1;
  }
};

// Calls f(from offset, to offset) for every index of the first `count` axes.
template <class F>
void for_indices(const Axis* axis, int count, int64_t from, int64_t to, const F& f) {
  if (count == 0) return f(from, to);
  for (int64_t i = 0; i < axis->extent; ++i, from += axis->from, to += axis->to) {
    for_indices(axis + 1, count - 1, from, to, f);
  }
}

constexpr int64_t kFillBytes = 4096;

// Blocks of the element, around the caches. Worth it for some blocks and more.
template <class T>
void fill_past_caches(const T& value, T* to, int64_t n) {
  constexpr int64_t kBlock = kFillBytes / sizeof(T);
  alignas(64) T block[kBlock];
  std::fill_n(block, kBlock, value);
  const auto misplaced = static_cast<int64_t>(reinterpret_cast<uintptr_t>(to) % 64 / sizeof(T));
  const int64_t before = std::min(n, misplaced == 0 ? 0 : 64 / int64_t{sizeof(T)} - misplaced);
  const int64_t blocks = (n - before) / kBlock, done = before + blocks * kBlock;
  std::fill_n(to, before, value);
  copy_runs({reinterpret_cast<const std::byte*>(block), 0},
            {reinterpret_cast<std::byte*>(to + before), sizeof(block)}, sizeof(block), blocks,
            true);
  std::fill_n(to + done, n - done, value);
}

template <class T>
void copy_line(const T* from, int64_t from_stride, T* to, int64_t to_stride, int64_t n) {
  if (from_stride == 1 && to_stride == 1) {
    std::memcpy(to, from, static_cast<size_t>(n) * sizeof(T));
  } else if (from_stride == 0 && to_stride == 1) {
    std::fill_n(to, n, *from);
  } else {
    for (int64_t i = 0; i < n; ++i) to[i * to_stride] = from[i * from_stride];
  }
}

// Lines that run on in both layouts, the last axis but one at a time.
template <class T>
void copy_whole_lines(const Axes& axes, const T* from, T* to) {
  constexpr int64_t kBytes = sizeof(T);
  const Axis lines = axes.axis[axes.count - 2];
  const int64_t bytes = axes.inner().extent * kBytes;
  for_indices(axes.axis, axes.count - 2, 0, 0, [=](int64_t a, int64_t b) {
    copy_runs({reinterpret_cast<const std::byte*>(from + a), lines.from * kBytes},
              {reinterpret_cast<std::byte*>(to + b), lines.to * kBytes}, bytes, lines.extent,
              axes.past_caches);
  });
}

template <class T>
void copy_lines(const Axes& axes, const T* from, T* to) {
  const Axis inner = axes.inner();
  if (axes.count > 1 && inner.from == 1 && inner.to == 1) return copy_whole_lines(axes, from, to);
  const bool fills = inner.from == 0 && inner.to == 1 && axes.past_caches &&
                     inner.extent * int64_t{sizeof(T)} >= 4 * kFillBytes;
  for_indices(axes.axis, axes.count - 1, 0, 0, [=](int64_t a, int64_t b) {
    if (fills)
      fill_past_caches(from[a], to + b, inner.extent);
    else
      copy_line(from + a, inner.from, to + b, inner.to, inner.extent);
  });
}

// When the source runs on along another axis than the target, those two axes are a plane to turn.
// Moves that axis to the end but one and says whether there is one.
bool find_plane(Axes& axes) {
  const Axis inner = axes.inner();
  if (inner.to != 1 || inner.from <= 1) return false;
  for (int k = 0; k < axes.count - 1; ++k) {
    if (axes.axis[k].from != 1 || axes.axis[k].to <= 0) continue;
    std::rotate(axes.axis + k, axes.axis + k + 1, axes.axis + axes.count - 1);
    return true;
  }
  return false;
}

void copy_planes(const Axes& axes, const float* from, float* to) {
  const Axis along = axes.axis[axes.count - 2], across = axes.inner();
  for_indices(axes.axis, axes.count - 2, 0, 0, [=](int64_t a, int64_t b) {
    transpose_plane(from + a, across.from, to + b, along.to, across.extent, along.extent);
  });
}

template <class T>
void copy_as(Axes& axes, const void* from, void* to) {
  const T* source = static_cast<const T*>(from);
  T* target = static_cast<T*>(to);
  if (axes.count == 0) {
    *target = *source;
  } else if (sizeof(T) == sizeof(float) && find_plane(axes)) {
    copy_planes(axes, static_cast<const float*>(from), static_cast<float*>(to));
  } else {
    copy_lines(axes, source, target);
  }
}

}  // namespace

void copy_box(const Box& box, const void* from, void* to, size_t element_bytes) noexcept {
  Axes axes(box);
  if (axes.empty) return;
  switch (element_bytes) {
    case 1:
      copy_as<uint8_t>(axes, from, to);
      break;
    case 2:
      copy_as<uint16_t>(axes, from, to);
      break;
    case 4:
      copy_as<float>(axes, from, to);
      break;
    default:
      copy_as<uint64_t>(axes, from, to);
  }
  if (box.past_caches) stream_end();
}

Box transpose_box(int axes, const int64_t* extents, const int* order) noexcept {
  int64_t strides[8];
  for (int64_t k = axes - 1, stride = 1; k >= 0; stride *= extents[k--]) strides[k] = stride;
  Box box{.axes = axes};
  for (int64_t k = axes - 1, stride = 1; k >= 0; stride *= box.extents[k--]) {
    box.extents[k] = extents[order[k]];
    box.from_strides[k] = strides[order[k]];
    box.to_strides[k] = stride;
  }
  return box;
}

void fill(float value, float* to, int64_t n) noexcept {
  if (n * static_cast<int64_t>(sizeof(float)) < kPastCachesBytes) {
    std::fill_n(to, n, value);
    return;
  }
  fill_past_caches(value, to, n);
  stream_end();
}

void transpose(const float* x, float* y, int64_t rows, int64_t columns) noexcept {
  transpose_plane(x, columns, y, rows, rows, columns);
}

}  // namespace snug::kernels

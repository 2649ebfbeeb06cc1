#include "snug/kernels/resize.h"

#include <algorithm>
#include <cmath>

#include "snug/kernels/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "snug/kernels/resize.cpp"
#include "hwy/foreach_target.h"  // Compiles what follows once for each instruction set.
#include "snug/kernels/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace snug::kernels::HWY_NAMESPACE {

int64_t nearest(int64_t i, int64_t size, int64_t out_size) {
  return std::min(size - 1, (2 * i + 1) * size / (2 * out_size));
}

// The two input pixels that an output pixel lies between, and the share of the second.
struct Between {
  int64_t first, second;
  float share;

  Between(int64_t i, int64_t size, int64_t out_size) {
    const float scale = static_cast<float>(size) / static_cast<float>(out_size);
    const float at = (static_cast<float>(i) + 0.5f) * scale - 0.5f;
    const float below = std::floor(at);
    first = std::max<int64_t>(0, static_cast<int64_t>(below));
    second = std::min(size - 1, static_cast<int64_t>(below) + 1);
    share = at - below;
  }
};

// Calls f(offset of the image in x, i, j, offset in y) for every output pixel.
template <class F>
HWY_INLINE void for_pixels(const Resize& s, int64_t images, const F& f) {
  int64_t out = 0;
  for (int64_t image = 0; image < images; ++image) {
    const int64_t start = image * s.height * s.width * s.channels;
    for (int64_t i = 0; i < s.out_height; ++i) {
      for (int64_t j = 0; j < s.out_width; ++j, out += s.channels) f(start, i, j, out);
    }
  }
}

template <class F>
HWY_INLINE void for_channels(int64_t channels, const F& f) {
  int64_t c = 0;
  for (; c + kLanes <= channels; c += kLanes) f(Reader<false>{kLanes}, Writer<false>{kLanes}, c);
  if (c < channels) f(Reader<true>{channels - c}, Writer<true>{channels - c}, c);
}

int64_t nearest_pixel(const Resize& s, int64_t i, int64_t j) {
  return (nearest(i, s.height, s.out_height) * s.width + nearest(j, s.width, s.out_width)) *
         s.channels;
}

void nearest_forward(const Resize& s, const float* x, float* y, int64_t images) {
  for_pixels(s, images, [=](int64_t start, int64_t i, int64_t j, int64_t out) HWY_ATTR {
    const float* from = x + start + nearest_pixel(s, i, j);
    for_channels(s.channels, [=](const auto& read, const auto& write, int64_t c)
                                 HWY_ATTR { write(read(from + c), y + out + c); });
  });
}

void nearest_backward(const Resize& s, const float* dy, float* dx, int64_t images) {
  std::fill_n(dx, images * s.height * s.width * s.channels, 0.0f);
  for_pixels(s, images, [=](int64_t start, int64_t i, int64_t j, int64_t out) HWY_ATTR {
    float* to = dx + start + nearest_pixel(s, i, j);
    for_channels(s.channels, [=](const auto& read, const auto& write, int64_t c) HWY_ATTR {
      write(hn::Add(read(to + c), read(dy + out + c)), to + c);
    });
  });
}

// The offsets of the four pixels around an output pixel, and the shares of the lower and right
// ones.
struct Corners {
  int64_t offset[2][2];
  float down, right;

  Corners(const Resize& s, int64_t i, int64_t j) {
    const Between rows(i, s.height, s.out_height), columns(j, s.width, s.out_width);
    const int64_t row[2] = {rows.first, rows.second};
    const int64_t column[2] = {columns.first, columns.second};
    for (int a = 0; a < 2; ++a) {
      for (int b = 0; b < 2; ++b) offset[a][b] = (row[a] * s.width + column[b]) * s.channels;
    }
    down = rows.share;
    right = columns.share;
  }
};

// a + (b - a) * share, so that equal neighbours give themselves.
HWY_INLINE V mix(V a, V b, V share) { return hn::MulAdd(hn::Sub(b, a), share, a); }

void bilinear_forward(const Resize& s, const float* x, float* y, int64_t images) {
  for_pixels(s, images, [=](int64_t start, int64_t i, int64_t j, int64_t out) HWY_ATTR {
    const Corners corners(s, i, j);
    const V down = set(corners.down), right = set(corners.right);
    const auto& at = corners.offset;
    for_channels(s.channels, [=](const auto& read, const auto& write, int64_t c) HWY_ATTR {
      const float* from = x + start + c;
      const V upper = mix(read(from + at[0][0]), read(from + at[0][1]), right);
      const V lower = mix(read(from + at[1][0]), read(from + at[1][1]), right);
      write(mix(upper, lower, down), y + out + c);
    });
  });
}

void bilinear_backward(const Resize& s, const float* dy, float* dx, int64_t images) {
  std::fill_n(dx, images * s.height * s.width * s.channels, 0.0f);
  for_pixels(s, images, [=](int64_t start, int64_t i, int64_t j, int64_t out) HWY_ATTR {
    const Corners corners(s, i, j);
    for (int a = 0; a < 2; ++a) {
      for (int b = 0; b < 2; ++b) {
        const float share =
            (a ? corners.down : 1 - corners.down) * (b ? corners.right : 1 - corners.right);
        float* to = dx + start + corners.offset[a][b];
        const V weight = set(share);
        for_channels(s.channels, [=](const auto& read, const auto& write, int64_t c) HWY_ATTR {
          write(hn::MulAdd(read(dy + out + c), weight, read(to + c)), to + c);
        });
      }
    }
  });
}

}  // namespace snug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace snug::kernels {

HWY_EXPORT(nearest_forward);
HWY_EXPORT(nearest_backward);
HWY_EXPORT(bilinear_forward);
HWY_EXPORT(bilinear_backward);

void resize_nearest(const Resize& resize, const float* x, float* y, int64_t images) noexcept {
  HWY_DYNAMIC_DISPATCH(nearest_forward)(resize, x, y, images);
}

void resize_nearest_gradient(const Resize& resize, const float* dy, float* dx,
                             int64_t images) noexcept {
  HWY_DYNAMIC_DISPATCH(nearest_backward)(resize, dy, dx, images);
}

void resize_bilinear(const Resize& resize, const float* x, float* y, int64_t images) noexcept {
  HWY_DYNAMIC_DISPATCH(bilinear_forward)(resize, x, y, images);
}

void resize_bilinear_gradient(const Resize& resize, const float* dy, float* dx,
                              int64_t images) noexcept {
  HWY_DYNAMIC_DISPATCH(bilinear_backward)(resize, dy, dx, images);
}

}  // namespace snug::kernels
#endif

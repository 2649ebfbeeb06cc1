#include "snug/kernels/pool.h"

#include <algorithm>

#include "snug/kernels/simd.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "snug/kernels/pool.cpp"
#include "hwy/foreach_target.h"  // Compiles what follows once for each instruction set.
#include "snug/kernels/rows-inl.h"
#include "snug/kernels/stream-inl.h"

HWY_BEFORE_NAMESPACE();
namespace snug::kernels::HWY_NAMESPACE {

// The part of one output pixel's window that lies in the image: kernel rows [top, bottom) and
// columns [left, right); `origin` is the offset of the image's pixel under kernel place (0, 0).
struct Window {
  int64_t top, bottom, left, right;
  int64_t origin, row_stride, pixel_stride;
  int64_t kernel_width;

  Window(const Pool& p, int64_t i, int64_t j)
      : row_stride(p.width * p.channels), pixel_stride(p.channels), kernel_width(p.kernel_width) {
    const int64_t y = i * p.stride_height - p.pad_top, x = j * p.stride_width - p.pad_left;
    top = std::max<int64_t>(0, -y);
    left = std::max<int64_t>(0, -x);
    bottom = std::min(p.kernel_height, p.height - y);
    right = std::min(p.kernel_width, p.width - x);
    origin = y * row_stride + x * pixel_stride;
  }

  int64_t size() const { return (bottom - top) * (right - left); }

  // Calls f(offset in the image, place in the kernel) for each pixel.
  template <class F>
  HWY_INLINE void for_pixels(const F& f) const {
    for (int64_t i = top; i < bottom; ++i) {
      for (int64_t j = left; j < right; ++j) {
        f(origin + i * row_stride + j * pixel_stride, i * kernel_width + j);
      }
    }
  }
};

int64_t image_size(const Pool& p) { return p.height * p.width * p.channels; }
int64_t out_size(const Pool& p) { return p.out_height * p.out_width * p.channels; }

// Calls f(image, window, output offset) for every output pixel.
template <class F>
HWY_INLINE void for_windows(const Pool& p, int64_t images, const F& f) {
  int64_t out = 0;
  for (int64_t image = 0; image < images; ++image) {
    for (int64_t i = 0; i < p.out_height; ++i) {
      for (int64_t j = 0; j < p.out_width; ++j, out += p.channels) {
        f(image * image_size(p), Window(p, i, j), out);
      }
    }
  }
}

// Calls f(reader, writer, channel) for every vector of channels.
template <class F>
HWY_INLINE void for_channels(int64_t channels, const F& f) {
  int64_t c = 0;
  for (; c + kLanes <= channels; c += kLanes) f(Reader<false>{kLanes}, Writer<false>{kLanes}, c);
  if (c < channels) {
    f(Reader<true>{channels - c}, Writer<true>{channels - c}, c);
  }
}

// The same where f only writes: beyond the first vector, the last one goes back over channels that
// are written already, so that none is left in part.
template <class F>
HWY_INLINE void write_channels(int64_t channels, const F& f) {
  if (channels < kLanes) return f(Reader<true>{channels}, Writer<true>{channels}, 0);
  int64_t c = 0;
  for (; c + kLanes <= channels; c += kLanes) f(Reader<false>{kLanes}, Writer<false>{kLanes}, c);
  if (c < channels) f(Reader<false>{kLanes}, Writer<false>{kLanes}, channels - kLanes);
}

struct Winner {
  V value;
  VI place;

  // The first of equals stays, and so does the first NaN.
  HWY_INLINE void meet(V v, int64_t at) {
    const M wins = hn::And(hn::Not(hn::Le(v, value)), hn::Eq(value, value));
    value = hn::IfThenElse(wins, v, value);
    place = hn::IfThenElse(hn::RebindMask(di, wins), hn::Set(di, static_cast<int32_t>(at)), place);
  }
};

// Before the first pixel every value must win, -infinity included: so that pixel comes first.
template <class R>
HWY_INLINE Winner winner_of(const Window& window, const float* x, const R& read) {
  const int64_t first = window.top * window.kernel_width + window.left;
  const int64_t start =
      window.origin + window.top * window.row_stride + window.left * window.pixel_stride;
  Winner winner{read(x + start), hn::Set(di, static_cast<int32_t>(first))};
  window.for_pixels([&](int64_t at, int64_t place) HWY_ATTR { winner.meet(read(x + at), place); });
  return winner;
}

HWY_INLINE void store_places(VI places, uint8_t* p, int64_t count) {
  if (HWY_LIKELY(count == kLanes)) {
    hn::StoreU(hn::DemoteTo(DBytes(), places), DBytes(), p);
  } else {
    uint8_t part[kLanes];
    hn::StoreU(hn::DemoteTo(DBytes(), places), DBytes(), part);
    std::memcpy(p, part, static_cast<size_t>(count));
  }
}

HWY_INLINE VI load_places(const uint8_t* p, int64_t count) {
  if (HWY_LIKELY(count == kLanes)) return hn::PromoteTo(di, hn::LoadU(DBytes(), p));
  uint8_t part[kLanes] = {};
  std::memcpy(part, p, static_cast<size_t>(count));
  return hn::PromoteTo(di, hn::LoadU(DBytes(), part));
}

// Windows of 2 x 2 side by side: four pixels each and no borders.
bool is_two_by_two(const Pool& p) {
  return p.kernel_height == 2 && p.kernel_width == 2 && p.stride_height == 2 &&
         p.stride_width == 2 && p.pad_top == 0 && p.pad_left == 0 && 2 * p.out_height <= p.height &&
         2 * p.out_width <= p.width;
}

// Calls f(reader, writer, offset in the images of the upper left pixel, output offset) for every
// vector of channels of every window; `x` are the images, read or written.
template <class F>
HWY_INLINE void for_two_by_two(const Pool& p, const float* x, int64_t images, const F& f) {
  constexpr int64_t kLine = 16;
  const int64_t row = p.width * p.channels, size = images * p.height * row;
  int64_t out = 0;
  for (int64_t image = 0; image < images; ++image) {
    for (int64_t i = 0; i < p.out_height; ++i) {
      int64_t at = (image * p.height + 2 * i) * row;
      const int64_t end = at + row;
      for (int64_t j = 0; j < p.out_width; ++j, at += 2 * p.channels, out += p.channels) {
        // Behind the end of this pair of rows the next one begins.
        const int64_t next = at + kFloatsAhead, later = next < end ? next : next + row;
        const int64_t lines = kFloatsAhead > 0 ? 2 * p.channels : 0;
        for (int64_t k = 0; k < lines && later + row + k < size; k += kLine)
          call_for(x + later + k), call_for(x + later + row + k);
        write_channels(p.channels, [&](const auto& read, const auto& write, int64_t c)
                                       HWY_ATTR { f(read, write, at + c, out + c); });
      }
    }
  }
}

void max_two_by_two(const Pool& p, const float* x, float* y, uint8_t* argument, int64_t images) {
  const int64_t right = p.channels, below = p.width * p.channels;
  for_two_by_two(p, x, images,
                 [=](const auto& read, const auto& write, int64_t at, int64_t out) HWY_ATTR {
                   Winner winner{read(x + at), hn::Zero(di)};
                   winner.meet(read(x + at + right), 1);
                   winner.meet(read(x + at + below), 2);
                   winner.meet(read(x + at + below + right), 3);
                   write(winner.value, y + out);
                   if (argument) store_places(winner.place, argument + out, read.count);
                 });
}

void max_forward(const Pool& p, const float* x, float* y, uint8_t* argument, int64_t images) {
  if (is_two_by_two(p)) return max_two_by_two(p, x, y, argument, images);
  for_windows(p, images, [=](int64_t image, const Window& window, int64_t out) HWY_ATTR {
    write_channels(p.channels, [=](const auto& read, const auto& write, int64_t c) HWY_ATTR {
      const Winner winner = winner_of(window, x + image + c, read);
      write(winner.value, y + out + c);
      if (argument) store_places(winner.place, argument + out + c, read.count);
    });
  });
}

// dx += dy at the places of the winners.
template <class R, class W>
HWY_INLINE void share(const Window& window, VI places, V dy, float* dx, const R& read,
                      const W& write) {
  window.for_pixels([&](int64_t at, int64_t place) HWY_ATTR {
    const auto wins = hn::Eq(places, hn::Set(di, static_cast<int32_t>(place)));
    write(hn::Add(read(dx + at), hn::IfThenElseZero(hn::RebindMask(d, wins), dy)), dx + at);
  });
}

void clear_image(const Pool& p, float* dx) { std::fill_n(dx, image_size(p), 0.0f); }

// The pixels that no window of 2 x 2 looks at.
void clear_rest(const Pool& p, float* dx, int64_t images) {
  if (2 * p.out_height < p.height || 2 * p.out_width < p.width)
    std::fill_n(dx, images * image_size(p), 0.0f);
}

void max_backward_two_by_two(const Pool& p, const uint8_t* argument, const float* dy, float* dx,
                             int64_t images) {
  clear_rest(p, dx, images);
  const int64_t right = p.channels, below = p.width * p.channels;
  for_two_by_two(p, dx, images,
                 [=](const auto& read, const auto& write, int64_t at, int64_t out) HWY_ATTR {
                   const VI places = load_places(argument + out, read.count);
                   const V g = read(dy + out);
                   const auto share = [=](int place) HWY_ATTR {
                     const auto wins = hn::RebindMask(d, hn::Eq(places, hn::Set(di, place)));
                     return hn::IfThenElseZero(wins, g);
                   };
                   write(share(0), dx + at);
                   write(share(1), dx + at + right);
                   write(share(2), dx + at + below);
                   write(share(3), dx + at + below + right);
                 });
}

void max_backward(const Pool& p, const uint8_t* argument, const float* dy, float* dx,
                  int64_t images) {
  if (is_two_by_two(p)) return max_backward_two_by_two(p, argument, dy, dx, images);
  for (; images > 0; --images, argument += out_size(p), dy += out_size(p), dx += image_size(p)) {
    clear_image(p, dx);
    for_windows(p, 1, [=](int64_t, const Window& window, int64_t out) HWY_ATTR {
      for_channels(p.channels, [=](const auto& read, const auto& write, int64_t c) HWY_ATTR {
        share(window, load_places(argument + out + c, read.count), read(dy + out + c), dx + c, read,
              write);
      });
    });
  }
}

void max_backward_from_input(const Pool& p, const float* x, const float* dy, float* dx,
                             int64_t images) {
  for (; images > 0; --images, x += image_size(p), dy += out_size(p), dx += image_size(p)) {
    clear_image(p, dx);
    for_windows(p, 1, [=](int64_t, const Window& window, int64_t out) HWY_ATTR {
      for_channels(p.channels, [=](const auto& read, const auto& write, int64_t c) HWY_ATTR {
        share(window, winner_of(window, x + c, read).place, read(dy + out + c), dx + c, read,
              write);
      });
    });
  }
}

void average_two_by_two(const Pool& p, const float* x, float* y, int64_t images) {
  const int64_t right = p.channels, below = p.width * p.channels;
  for_two_by_two(p, x, images,
                 [=](const auto& read, const auto& write, int64_t at, int64_t out) HWY_ATTR {
                   const float* from = x + at;
                   V sum = hn::Add(read(from), read(from + right));
                   sum = hn::Add(hn::Add(sum, read(from + below)), read(from + below + right));
                   write(hn::Mul(sum, set(0.25f)), y + out);
                 });
}

void average_forward(const Pool& p, const float* x, float* y, int64_t images) {
  if (is_two_by_two(p)) return average_two_by_two(p, x, y, images);
  for_windows(p, images, [=](int64_t image, const Window& window, int64_t out) HWY_ATTR {
    const V count = set(static_cast<float>(window.size()));
    write_channels(p.channels, [=](const auto& read, const auto& write, int64_t c) HWY_ATTR {
      V sum = hn::Zero(d);
      window.for_pixels([&](int64_t at, int64_t)
                            HWY_ATTR { sum = hn::Add(sum, read(x + image + at + c)); });
      write(hn::Div(sum, count), y + out + c);
    });
  });
}

// Windows side by side: a pixel has a share of one of them and of no other.
bool is_tiled(const Pool& p) {
  return p.stride_height == p.kernel_height && p.stride_width == p.kernel_width &&
         p.out_height * p.stride_height - p.pad_top >= p.height &&
         p.out_width * p.stride_width - p.pad_left >= p.width;
}

template <bool kTiled>
void average_backward_image(const Pool& p, const float* dy, float* dx) {
  for_windows(p, 1, [=](int64_t, const Window& window, int64_t out) HWY_ATTR {
    const V count = set(static_cast<float>(window.size()));
    for_channels(p.channels, [=](const auto& read, const auto& write, int64_t c) HWY_ATTR {
      const V part = hn::Div(read(dy + out + c), count);
      window.for_pixels([&](int64_t at, int64_t) HWY_ATTR {
        float* to = dx + at + c;
        write(kTiled ? part : hn::Add(read(to), part), to);
      });
    });
  });
}

void average_backward_two_by_two(const Pool& p, const float* dy, float* dx, int64_t images) {
  clear_rest(p, dx, images);
  const int64_t right = p.channels, below = p.width * p.channels;
  for_two_by_two(p, dx, images,
                 [=](const auto& read, const auto& write, int64_t at, int64_t out) HWY_ATTR {
                   const V part = hn::Mul(read(dy + out), set(0.25f));
                   write(part, dx + at);
                   write(part, dx + at + right);
                   write(part, dx + at + below);
                   write(part, dx + at + below + right);
                 });
}

void average_backward(const Pool& p, const float* dy, float* dx, int64_t images) {
  if (is_two_by_two(p)) return average_backward_two_by_two(p, dy, dx, images);
  const bool tiled = is_tiled(p);
  for (; images > 0; --images, dy += out_size(p), dx += image_size(p)) {
    if (tiled) {
      average_backward_image<true>(p, dy, dx);
    } else {
      clear_image(p, dx);
      average_backward_image<false>(p, dy, dx);
    }
  }
}

}  // namespace snug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace snug::kernels {

HWY_EXPORT(max_forward);
HWY_EXPORT(max_backward);
HWY_EXPORT(max_backward_from_input);
HWY_EXPORT(average_forward);
HWY_EXPORT(average_backward);

void max_pool(const Pool& pool, const float* x, float* y, uint8_t* argument,
              int64_t images) noexcept {
  HWY_DYNAMIC_DISPATCH(max_forward)(pool, x, y, argument, images);
}

void max_pool_gradient(const Pool& pool, const uint8_t* argument, const float* dy, float* dx,
                       int64_t images) noexcept {
  HWY_DYNAMIC_DISPATCH(max_backward)(pool, argument, dy, dx, images);
}

void max_pool_gradient_from_input(const Pool& pool, const float* x, const float* dy, float* dx,
                                  int64_t images) noexcept {
  HWY_DYNAMIC_DISPATCH(max_backward_from_input)(pool, x, dy, dx, images);
}

void average_pool(const Pool& pool, const float* x, float* y, int64_t images) noexcept {
  HWY_DYNAMIC_DISPATCH(average_forward)(pool, x, y, images);
}

void average_pool_gradient(const Pool& pool, const float* dy, float* dx, int64_t images) noexcept {
  HWY_DYNAMIC_DISPATCH(average_backward)(pool, dy, dx, images);
}

}  // namespace snug::kernels
#endif

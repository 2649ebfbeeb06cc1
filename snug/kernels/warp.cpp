#include "snug/kernels/warp.h"

#include <algorithm>
#include <cmath>

namespace snug::kernels {
namespace {

float within(float at, float size) { return std::clamp(at, 0.0f, size - 1); }

// The place within the image that a place beyond its border shows. Places between the last pixel
// and its mirror image show the last pixel, as in TensorFlow.
float mapped(float at, int64_t length, WarpFill fill) {
  const auto size = static_cast<float>(length);
  if (at >= 0 && at <= size - 1) return at;
  switch (fill) {
    case WarpFill::constant:
      return at;
    case WarpFill::nearest:
      return within(at, size);
    case WarpFill::reflect: {
      float turn = std::fmod(at, 2 * size);
      if (turn < 0) turn += 2 * size;
      return within(turn >= size ? 2 * size - turn - 1 : turn, size);
    }
    case WarpFill::wrap:
      break;
  }
  if (length == 1) return 0;
  if (at < 0) {
    at += size * (std::trunc(-at / (size - 1)) + 1);
  } else if (at > size - 1) {
    at -= size * std::trunc(at / (size - 1));
  }
  return within(at, size);
}

// An input pixel that an output pixel shows, and how much of it.
struct Share {
  int64_t offset = -1;  // Of its first channel; -1: beyond the border.
  float weight = 0;
};

class Shares {
 public:
  Shares(const Warp& warp, const Affine& map) : warp_(warp), map_(map) {}

  // Of output pixel (j, i); says how many there are.
  int find(int64_t j, int64_t i, Share* shares) const {
    const auto out_x = static_cast<float>(j), out_y = static_cast<float>(i);
    const float x = mapped(map_[0] * out_x + map_[1] * out_y + map_[2], warp_.width, warp_.fill);
    const float y = mapped(map_[3] * out_x + map_[4] * out_y + map_[5], warp_.height, warp_.fill);
    if (!warp_.bilinear) {
      shares[0] = {offset(std::round(x), std::round(y)), 1};
      return 1;
    }
    const float left = std::floor(x), top = std::floor(y);
    const float right_share = x - left, lower_share = y - top;
    shares[0] = {offset(left, top), (1 - right_share) * (1 - lower_share)};
    shares[1] = {offset(left + 1, top), right_share * (1 - lower_share)};
    shares[2] = {offset(left, top + 1), (1 - right_share) * lower_share};
    shares[3] = {offset(left + 1, top + 1), right_share * lower_share};
    return 4;
  }

 private:
  int64_t offset(float x, float y) const {
    const bool inside = x >= 0 && y >= 0 && x < static_cast<float>(warp_.width) &&
                        y < static_cast<float>(warp_.height);
    if (!inside) return -1;
    return (static_cast<int64_t>(y) * warp_.width + static_cast<int64_t>(x)) * warp_.channels;
  }

  const Warp& warp_;
  const Affine& map_;
};

// Along an axis: whether output place i shows input place first + i, or first - i, and no border.
bool steps_by_one(float scale, float first, int64_t size, int64_t out_size) {
  const float last = first + scale * static_cast<float>(out_size - 1);
  const auto end = static_cast<float>(size - 1);
  return std::abs(scale) == 1 && first == std::floor(first) && first >= 0 && first <= end &&
         last >= 0 && last <= end;
}

// Flips and shifts by whole pixels, within the image.
bool only_moves(const Warp& warp, const Affine& map) {
  return map[1] == 0 && map[3] == 0 && steps_by_one(map[0], map[2], warp.width, warp.out_width) &&
         steps_by_one(map[4], map[5], warp.height, warp.out_height);
}

// A row of pixels from the last to the first, `count` of them; `last` is where the last one stands.
void turn_row(const float* last, int64_t count, int64_t channels, float* to) {
  if (channels == 1) {
    std::reverse_copy(last - count + 1, last + 1, to);
    return;
  }
  int64_t done = 0;
  if (channels == 3 && count > 2) {
    // Four at once: the fourth is overwritten by the next pixel. Not at the ends of the row.
    std::copy_n(last, 3, to);
    for (done = 1; done < count - 1; ++done) std::copy_n(last - 3 * done, 4, to + 3 * done);
  }
  for (; done < count; ++done) std::copy_n(last - done * channels, channels, to + done * channels);
}

void move_pixels(const Warp& warp, const Affine& map, const float* x, float* y) {
  const auto column = static_cast<int64_t>(map[2]);
  const int64_t channels = warp.channels;
  for (int64_t i = 0; i < warp.out_height; ++i, y += warp.out_width * channels) {
    const int64_t row = static_cast<int64_t>(map[5]) + (map[4] > 0 ? i : -i);
    const float* from = x + (row * warp.width + column) * channels;
    if (map[0] > 0) {
      std::copy_n(from, warp.out_width * channels, y);
    } else {
      turn_row(from, warp.out_width, channels, y);
    }
  }
}

}  // namespace

void warp_image(const Warp& warp, const Affine& map, const float* x, float* y) noexcept {
  if (only_moves(warp, map)) return move_pixels(warp, map, x, y);
  const Shares all(warp, map);
  Share shares[4];
  for (int64_t i = 0; i < warp.out_height; ++i) {
    for (int64_t j = 0; j < warp.out_width; ++j, y += warp.channels) {
      const int count = all.find(j, i, shares);
      if (count == 1 && shares[0].offset >= 0) {
        std::copy_n(x + shares[0].offset, warp.channels, y);
        continue;
      }
      std::fill_n(y, warp.channels, 0.0f);
      for (int k = 0; k < count; ++k) {
        const float weight = shares[k].weight;
        if (weight == 0) continue;
        const float* from = x + shares[k].offset;
        for (int64_t c = 0; c < warp.channels; ++c) {
          y[c] += weight * (shares[k].offset < 0 ? warp.fill_value : from[c]);
        }
      }
    }
  }
}

void warp_image_gradient(const Warp& warp, const Affine& map, const float* dy, float* dx) noexcept {
  std::fill_n(dx, warp.height * warp.width * warp.channels, 0.0f);
  const Shares all(warp, map);
  Share shares[4];
  for (int64_t i = 0; i < warp.out_height; ++i) {
    for (int64_t j = 0; j < warp.out_width; ++j, dy += warp.channels) {
      const int count = all.find(j, i, shares);
      for (int k = 0; k < count; ++k) {
        if (shares[k].offset < 0) continue;
        float* to = dx + shares[k].offset;
        for (int64_t c = 0; c < warp.channels; ++c) to[c] += shares[k].weight * dy[c];
      }
    }
  }
}

}  // namespace snug::kernels

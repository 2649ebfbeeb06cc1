// Images turned, moved, scaled, flipped or cut at random. What is drawn for an image depends on the
// step's seed and epoch, on its row's position and on the stream: so the gradient and any split of
// the rows see the same maps.

#include <algorithm>
#include <cmath>
#include <numbers>

#include "snug/base/error.h"
#include "snug/base/threads.h"
#include "snug/kernels/random.h"
#include "snug/kernels/warp.h"
#include "snug/ops/elementwise.h"
#include "snug/ops/image_ops.h"
#include "snug/ops/ops.h"

namespace snug::ops {
namespace {

using kernels::Affine;
using kernels::Warp;
using Kind = RandomWarpOptions::Kind;

constexpr int64_t kDraws = 2;

float between(const std::array<float, 2>& range, float draw) {
  return range[0] + (range[1] - range[0]) * draw;
}

Affine rotated(const Warp& warp, float share_of_a_turn) {
  const float angle = share_of_a_turn * 2 * std::numbers::pi_v<float>;
  const float cosine = std::cos(angle), sine = std::sin(angle);
  const float x = static_cast<float>(warp.width - 1) / 2;
  const float y = static_cast<float>(warp.height - 1) / 2;
  return {cosine, -sine, x - x * cosine + y * sine, sine, cosine, y - x * sine - y * cosine};
}

Affine zoomed(const Warp& warp, float down, float across) {
  return {across, 0,    static_cast<float>(warp.width - 1) / 2 * (1 - across),
          0,      down, static_cast<float>(warp.height - 1) / 2 * (1 - down)};
}

Affine flipped(const Warp& warp, const RandomWarpOptions& options) {
  Affine map = {1, 0, 0, 0, 1, 0};
  if (options.horizontal) map[0] = -1, map[2] = static_cast<float>(warp.width - 1);
  if (options.vertical) map[4] = -1, map[5] = static_cast<float>(warp.height - 1);
  return map;
}

// One of 0 .. count - 1.
float choice(float draw, int64_t count) {
  const auto last = static_cast<float>(count - 1);
  return std::min(last, std::floor(draw * static_cast<float>(count)));
}

Affine map_of(const Warp& warp, const RandomWarpOptions& options, const float* draws) {
  switch (options.kind) {
    case Kind::rotation:
      return rotated(warp, between(options.height, draws[0]));
    case Kind::zoom: {
      const float down = 1 + between(options.height, draws[0]);
      return zoomed(warp, down, options.one_factor ? down : 1 + between(options.width, draws[1]));
    }
    case Kind::translation:
      return {1, 0, -between(options.width, draws[1]) * static_cast<float>(warp.width),
              0, 1, -between(options.height, draws[0]) * static_cast<float>(warp.height)};
    case Kind::crop:
      return {1, 0, choice(draws[1], warp.width - warp.out_width + 1),
              0, 1, choice(draws[0], warp.height - warp.out_height + 1)};
    case Kind::flip:
      break;
  }
  return draws[0] <= 0.5f ? flipped(warp, options) : Affine{1, 0, 0, 0, 1, 0};
}

class WarpKernel final : public Kernel {
 public:
  WarpKernel(const Warp& warp, const RandomWarpOptions& options, int64_t images, bool backward,
             const Target& target)
      : warp_(warp),
        options_(options),
        images_(images),
        backward_(backward),
        before_(warp.height * warp.width * warp.channels),
        after_(warp.out_height * warp.out_width * warp.channels),
        threads_(elementwise_threads(8 * images * std::max(before_, after_), target)) {}

  void run(const Run& run) const noexcept override {
    parallel_ranges(images_, threads_, 1, [&](int64_t begin, int64_t end) {
      for (int64_t image = begin; image < end; ++image) {
        float draws[kDraws];
        kernels::random_uniform(
            {.key = {.seed = run.step->seed,
                     .stream = options_.stream,
                     .epoch = static_cast<uint32_t>(run.step->epoch)},
             .position = run.step->position + static_cast<uint64_t>(run.first_row + image),
             .rows = 1,
             .columns = kDraws},
            0, 1, draws);
        const Affine map = map_of(warp_, options_, draws);
        if (backward_) {
          kernels::warp_image_gradient(warp_, map, run.input(0) + image * after_,
                                       run.output() + image * before_);
        } else {
          kernels::warp_image(warp_, map, run.input(0) + image * before_,
                              run.output() + image * after_);
        }
      }
    });
  }

 private:
  Warp warp_;
  RandomWarpOptions options_;
  int64_t images_;
  bool backward_;
  int64_t before_, after_;  // Elements of an image.
  int threads_;
};

// Forward, or from the gradient of the result to that of the image.
class RandomWarp final : public Op {
 public:
  RandomWarp(const RandomWarpOptions& options, const Warp& warp, bool backward)
      : options_(options), warp_(warp), backward_(backward) {}

  std::string_view name() const override {
    return backward_ ? "random_warp_gradient" : "random_warp";
  }
  std::string attributes() const override {
    constexpr std::string_view kKinds[] = {"flip", "rotation", "zoom", "translation", "crop"};
    return fmt::format("{} stream={}", kKinds[static_cast<size_t>(options_.kind)], options_.stream);
  }
  Types infer(const Types& in) const override {
    const int64_t height = backward_ ? warp_.height : warp_.out_height;
    const int64_t width = backward_ ? warp_.width : warp_.out_width;
    return {{DType::float32, {in[0].shape.extent(0), height, width, warp_.channels}}};
  }
  Values gradient(const Node&, const Values& dy) const override {
    return {dy[0].graph().add<RandomWarp>({dy[0]}, options_, warp_, !backward_)};
  }
  Rows rows(const Types&) const override { return Rows::each; }
  Traits traits() const override { return {.random = true}; }
  Cost cost(const Types& in) const override {
    constexpr double kFlopsOfAPixel = 20;
    return elementwise_cost(in, infer(in)[0].shape, kFlopsOfAPixel);
  }
  std::unique_ptr<Kernel> kernel(const Types& in, const Target& target) const override {
    return std::make_unique<WarpKernel>(warp_, options_, in[0].shape[0], backward_, target);
  }

 private:
  RandomWarpOptions options_;
  Warp warp_;
  bool backward_;
};

Warp warp_for(const Type& x, const RandomWarpOptions& options) {
  bool fits = x.dtype == DType::float32 && x.shape.rank() == 4;
  for (int axis = 1; fits && axis < 4; ++axis)
    fits = !x.shape.extent(axis).times_rows && x.shape[axis] > 0;
  if (!fits) {
    throw ShapeError(
        "random_warp: the image must be float32 [rows, height, width, channels], got {}", x.text());
  }
  Warp warp{.height = x.shape[1],
            .width = x.shape[2],
            .channels = x.shape[3],
            .out_height = x.shape[1],
            .out_width = x.shape[2],
            .fill = options.fill,
            .fill_value = options.fill_value,
            .bilinear = options.bilinear};
  // Whole pixels move to whole pixels.
  if (options.kind == Kind::flip || options.kind == Kind::crop) warp.bilinear = false;
  if (options.kind != Kind::crop) return warp;
  warp.out_height = options.size[0];
  warp.out_width = options.size[1];
  if (warp.out_height < 1 || warp.out_width < 1 || warp.out_height > warp.height ||
      warp.out_width > warp.width) {
    throw ShapeError("random_warp: a window of {} x {} is not within images of {} x {}",
                     warp.out_height, warp.out_width, warp.height, warp.width);
  }
  return warp;
}

}  // namespace

// A constant that is filled in makes the map affine: its gradient is that of the linear part.
Value random_warp(Value x, const RandomWarpOptions& options) {
  if (!x) throw Error("random_warp: the image is empty");
  return x.graph().add<RandomWarp>({x}, options, warp_for(x.type(), options), /*backward=*/false);
}

}  // namespace snug::ops

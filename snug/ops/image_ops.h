// Ops on images for preprocessing: a part of the catalogue ops.h that few need.
#pragma once

#include <array>
#include <cstdint>

#include "snug/graph/graph.h"
#include "snug/kernels/warp.h"

namespace snug::ops {

// To another {height, width}; half-pixel centres, no antialias.
Value resize2d(Value x, std::array<int64_t, 2> size, bool bilinear);

// Images [rows, height, width, channels], each seen through a map that is drawn for it from the
// step's seed and epoch, its row's position and the stream.
struct RandomWarpOptions {
  enum class Kind {
    flip,         // Half of them, in the directions that are set.
    rotation,     // By a share of a whole turn, within `height`.
    zoom,         // To 1 + a draw within `height` and within `width`; above 1 shows more.
    translation,  // Down and to the right, by shares of the size.
    crop,         // A window of `size`, anywhere within the image.
  };
  Kind kind = Kind::flip;
  bool horizontal = false, vertical = false;     // Of flip.
  std::array<float, 2> height = {}, width = {};  // From, to.
  bool one_factor = false;                       // Of zoom: the width's is the height's.
  std::array<int64_t, 2> size = {};              // Of crop.
  kernels::WarpFill fill = kernels::WarpFill::reflect;
  float fill_value = 0;
  bool bilinear = true;
  uint64_t stream = 0;
};
Value random_warp(Value x, const RandomWarpOptions& options);

}  // namespace snug::ops

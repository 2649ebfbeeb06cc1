#pragma once

#include <cstdint>

namespace snug {

// Of images: Keras's (3, 2) is {3, 2}, and 3 is {3, 3}.
struct Size2D {
  int64_t height = 1, width = 1;

  Size2D() = default;
  Size2D(int64_t both) : height(both), width(both) {}  // NOLINT: .strides = 2
  Size2D(int64_t height, int64_t width) : height(height), width(width) {}
  friend bool operator==(const Size2D&, const Size2D&) = default;
};

// Along one axis: how many before the first element and after the last one. 1 is {1, 1}.
struct Sides {
  int64_t before = 0, after = 0;

  Sides() = default;
  Sides(int64_t both) : before(both), after(both) {}  // NOLINT: ZeroPadding1D(1)
  Sides(int64_t before, int64_t after) : before(before), after(after) {}
  friend bool operator==(const Sides&, const Sides&) = default;
};

// Of images: Keras's ((0, 1), (2, 0)) is {{0, 1}, {2, 0}}; {1, 2} is {{1, 1}, {2, 2}}; 1 is 1
// everywhere.
struct Sides2D {
  Sides vertical, horizontal;

  Sides2D() = default;
  Sides2D(int64_t all) : vertical(all), horizontal(all) {}  // NOLINT: ZeroPadding2D(1)
  Sides2D(Sides vertical, Sides horizontal) : vertical(vertical), horizontal(horizontal) {}
  friend bool operator==(const Sides2D&, const Sides2D&) = default;
};

}  // namespace snug

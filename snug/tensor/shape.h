#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace snug {

// One extent of a shape: a number, or a multiple of `rows`, the one extent that a graph leaves
// open.
struct Extent {
  int64_t count = 0;
  bool times_rows = false;

  constexpr Extent(int64_t count = 0, bool times_rows = false)
      : count(count), times_rows(times_rows) {}  // NOLINT
  friend constexpr bool operator==(Extent a, Extent b) = default;
};

// The open extent itself: Shape{kRows, 28, 28, 1} is a batch of images.
inline constexpr Extent kRows{1, true};

// Up to eight extents, row-major, no heap. A shape with an open extent is symbolic; at(rows) makes
// it concrete.
class Shape {
 public:
  static constexpr int kMaxRank = 8;

  Shape() = default;
  Shape(std::initializer_list<Extent> extents);
  explicit Shape(std::span<const int64_t> extents);

  int rank() const { return rank_; }
  // Axes may be negative: -1 is the innermost. Throws InternalError when out of range.
  Extent extent(int axis) const;
  // The extent as a number; fails when it is a multiple of rows.
  int64_t operator[](int axis) const;
  bool is_symbolic() const;
  // Whether the outermost extent is a multiple of rows: then a stretch of rows is a stretch of
  // memory.
  bool has_rows() const { return rank_ > 0 && extents_[0].times_rows; }

  // The number of elements of a concrete shape (1 for a scalar).
  int64_t size() const;
  // The elements that belong to one row: of {rows * k, a, b} it is k * a * b. Of a shape without
  // rows, size().
  int64_t size_per_row() const;

  Shape at(int64_t rows) const;  // Every open extent with `rows` put in.

  void push_back(Extent extent);
  void set(int axis, Extent extent);
  Shape without(int axis) const;
  // The extents [first, last) as a shape of their own.
  Shape part(int first, int last) const;
  std::span<const Extent> extents() const { return {extents_.data(), static_cast<size_t>(rank_)}; }

  // "[rows, 28, 28, 1]", "[rows*4, 8]", "[]".
  std::string text() const;

  friend bool operator==(const Shape& a, const Shape& b);

 private:
  int checked(int axis) const;

  std::array<Extent, kMaxRank> extents_{};
  int rank_ = 0;
};

// The index of `axis` counted from the front; throws ShapeError naming `where` when the shape has
// no such axis.
int normalised_axis(int axis, int rank, std::string_view where);

// The shape that NumPy's rules give for two operands; throws ShapeError naming `where` and both
// shapes.
Shape broadcast(const Shape& a, const Shape& b, std::string_view where);

}  // namespace snug

#include "snug/tensor/shape.h"

#include <algorithm>

#include "snug/base/error.h"

namespace snug {

Shape::Shape(std::initializer_list<Extent> extents) {
  for (const Extent extent : extents) push_back(extent);
}

Shape::Shape(std::span<const int64_t> extents) {
  for (const int64_t extent : extents) push_back(extent);
}

int Shape::checked(int axis) const {
  const int index = axis < 0 ? axis + rank_ : axis;
  SNUG_CHECK(index >= 0 && index < rank_, "axis {} of {}", axis, text());
  return index;
}

Extent Shape::extent(int axis) const { return extents_[checked(axis)]; }

int64_t Shape::operator[](int axis) const {
  const Extent extent = extents_[checked(axis)];
  SNUG_CHECK(!extent.times_rows, "axis {} of {} is open", axis, text());
  return extent.count;
}

bool Shape::is_symbolic() const {
  return std::ranges::any_of(extents(), [](Extent extent) { return extent.times_rows; });
}

namespace {

int64_t product(int64_t a, int64_t b, const Shape& shape) {
  int64_t result;
  // Bytes are counted in int64_t too: 8 to an element at most.
  if (__builtin_mul_overflow(a, b, &result) || result > INT64_MAX / 8)
    throw ShapeError("the shape {} has more elements than can be counted", shape.text());
  return result;
}

}  // namespace

int64_t Shape::size() const {
  int64_t size = 1;
  for (int axis = 0; axis < rank_; ++axis) size = product(size, (*this)[axis], *this);
  return size;
}

int64_t Shape::size_per_row() const {
  int64_t size = 1;
  for (const Extent extent : extents()) size = product(size, extent.count, *this);
  return size;
}

Shape Shape::at(int64_t rows) const {
  Shape concrete;
  for (const Extent extent : extents()) {
    concrete.push_back(extent.times_rows ? Extent(product(extent.count, rows, *this)) : extent);
  }
  return concrete;
}

void Shape::push_back(Extent extent) {
  if (rank_ == kMaxRank)
    throw ShapeError("a shape has at most {} axes; {} has one more", kMaxRank, text());
  extents_[rank_++] = extent;
}

void Shape::set(int axis, Extent extent) { extents_[checked(axis)] = extent; }

Shape Shape::without(int axis) const {
  Shape shape;
  for (int i = 0; i < rank_; ++i) {
    if (i != checked(axis)) shape.push_back(extents_[i]);
  }
  return shape;
}

Shape Shape::part(int first, int last) const {
  Shape shape;
  for (int i = first; i < last; ++i) shape.push_back(extents_[i]);
  return shape;
}

namespace {

std::string extent_text(Extent extent) {
  if (!extent.times_rows) return std::to_string(extent.count);
  return extent.count == 1 ? "rows" : "rows*" + std::to_string(extent.count);
}

}  // namespace

std::string Shape::text() const {
  std::string result = "[";
  for (int axis = 0; axis < rank_; ++axis) {
    if (axis > 0) result += ", ";
    result += extent_text(extents_[axis]);
  }
  return result + "]";
}

bool operator==(const Shape& a, const Shape& b) {
  return std::ranges::equal(a.extents(), b.extents());
}

int normalised_axis(int axis, int rank, std::string_view where) {
  const int index = axis < 0 ? axis + rank : axis;
  if (index < 0 || index >= rank) {
    throw ShapeError("{}: axis {} is outside a value of {} axes; axes go from {} to {}", where,
                     axis, rank, -rank, rank - 1);
  }
  return index;
}

Shape broadcast(const Shape& a, const Shape& b, std::string_view where) {
  const int rank = std::max(a.rank(), b.rank());
  Shape result;
  for (int axis = 0; axis < rank; ++axis) {
    const int ia = axis - rank + a.rank(), ib = axis - rank + b.rank();
    const Extent ea = ia < 0 ? Extent(1) : a.extent(ia), eb = ib < 0 ? Extent(1) : b.extent(ib);
    if (ea != eb && ea != Extent(1) && eb != Extent(1)) {
      throw ShapeError(
          "{}: the shapes {} and {} do not broadcast: axis {} is {} and {}; they must be equal or "
          "1",
          where, a.text(), b.text(), axis, extent_text(ea), extent_text(eb));
    }
    result.push_back(ea == Extent(1) ? eb : ea);
  }
  return result;
}

}  // namespace snug

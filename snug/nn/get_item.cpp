#include "snug/nn/get_item.h"

#include <algorithm>

#include "snug/base/error.h"
#include "snug/ops/ops.h"

namespace snug::ops {
namespace {

// One for each axis of x, and new axes between them.
std::vector<Index> whole_key(const Shape& x, const std::vector<Index>& key) {
  const auto count = [&](Index::Kind kind) { return std::ranges::count(key, kind, &Index::kind); };
  const int64_t given = count(Index::Kind::at) + count(Index::Kind::range);
  const int64_t missing = x.rank() - given, ellipses = count(Index::Kind::ellipsis);
  if (missing < 0)
    throw ShapeError("get_item: {} has {} axes, and {} were indexed", x.text(), x.rank(), given);
  if (ellipses > 1)
    throw ShapeError("get_item: a key has {} ellipses; one is what it can have", ellipses);
  std::vector<Index> whole;
  for (const Index& index : key) {
    if (index.kind == Index::Kind::ellipsis)
      whole.insert(whole.end(), missing, kAll);
    else
      whole.push_back(index);
  }
  if (ellipses == 0) whole.insert(whole.end(), missing, kAll);
  return whole;
}

struct Part {
  int64_t begin = 0, size = -1, step = 1;
};

Part part_at(int64_t at, int64_t extent, const Shape& x) {
  if (at < -extent || at >= extent)
    throw ShapeError("get_item: {} has no element {} along an axis of {}", x.text(), at, extent);
  return {at < 0 ? at + extent : at, 1, 1};
}

// Python's slice.indices.
Part part_of(const Index& range, int64_t extent, const Shape& x) {
  if (range.step == 0) throw ShapeError("get_item: a step is 0; it must not be");
  if (extent == 0)
    throw ShapeError("get_item: nothing would be left of {} along an axis of 0", x.text());
  const int64_t step = std::clamp(range.step.value_or(1), -extent, extent);
  const int64_t least = step > 0 ? 0 : -1, most = step > 0 ? extent : extent - 1;
  const auto place = [&](const std::optional<int64_t>& given, int64_t otherwise) {
    if (!given) return otherwise;
    return std::clamp(*given < 0 ? *given + extent : *given, least, most);
  };
  const int64_t start = place(range.start, step > 0 ? least : most);
  const int64_t stop = place(range.stop, step > 0 ? most : least);
  const int64_t size =
      step > 0 ? (stop - start + step - 1) / step : (start - stop - step - 1) / -step;
  if (size < 1)
    throw ShapeError("get_item: nothing would be left of {} along an axis of {}", x.text(), extent);
  return {start, size, step};
}

Part part_of_rows(const Index& index, const Shape& x) {
  const bool is_whole = index.kind == Index::Kind::range && index.start.value_or(0) == 0 &&
                        !index.stop && index.step.value_or(1) == 1;
  if (!is_whole)
    throw ShapeError(
        "get_item: the first axis of {} are the rows of the batch, which must be taken whole: "
        "x[:, ...]",
        x.text());
  return {};
}

}  // namespace

Value get_item(Value x, const std::vector<Index>& key) {
  const Shape& shape = x.shape();
  SliceOptions slices;
  Shape result;
  int axis = 0;
  for (const Index& index : whole_key(shape, key)) {
    if (index.kind == Index::Kind::new_axis) {
      result.push_back(1);
      continue;
    }
    const Extent extent = shape.extent(axis++);
    const Part part = extent.times_rows               ? part_of_rows(index, shape)
                      : index.kind == Index::Kind::at ? part_at(*index.start, extent.count, shape)
                                                      : part_of(index, extent.count, shape);
    slices.begin.push_back(part.begin);
    slices.size.push_back(part.size);
    slices.step.push_back(part.step);
    if (index.kind == Index::Kind::range)
      result.push_back(extent.times_rows ? extent : Extent(part.size));
  }
  const Value taken = slice(x, slices);
  return taken.shape() == result ? taken : reshape(taken, result);
}

Value expand_dims(Value x, int axis) {
  const int at = normalised_axis(axis, x.shape().rank() + 1, "expand_dims");
  if (at == 0 && x.shape().has_rows())
    throw ShapeError("expand_dims: the first axis of {} are the rows of the batch; give another",
                     x.shape().text());
  Shape shape = x.shape().part(0, at);
  shape.push_back(1);
  const Shape rest = x.shape().part(at, x.shape().rank());
  for (const Extent extent : rest.extents()) shape.push_back(extent);
  return reshape(x, shape);
}

Value squeeze(Value x, std::optional<int> axis) {
  Shape shape;
  const int only = axis ? normalised_axis(*axis, x.shape().rank(), "squeeze") : -1;
  for (int i = 0; i < x.shape().rank(); ++i) {
    const Extent extent = x.shape().extent(i);
    if (i == only && extent != Extent(1))
      throw ShapeError("squeeze: axis {} of {} is not 1", i, x.shape().text());
    if (extent != Extent(1) || (axis && i != only)) shape.push_back(extent);
  }
  return shape == x.shape() ? x : reshape(x, shape);
}

}  // namespace snug::ops

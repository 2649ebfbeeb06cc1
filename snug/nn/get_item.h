// What Python has between brackets: x[:, 0], x[:, 1:3], x[..., None].
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "snug/graph/graph.h"

namespace snug::ops {

// One of the things between the commas. A number takes one element and its axis away.
struct Index {
  enum class Kind { at, range, new_axis, ellipsis };

  constexpr Index(int64_t at) : start(at) {}  // NOLINT: {kAll, 0}
  constexpr explicit Index(Kind kind) : kind(kind) {}

  Kind kind = Kind::at;
  std::optional<int64_t> start, stop, step;
};

// start:stop:step, each of which may be left out ({}).
constexpr Index range(std::optional<int64_t> start, std::optional<int64_t> stop = {},
                      std::optional<int64_t> step = {}) {
  Index index(Index::Kind::range);
  index.start = start;
  index.stop = stop;
  index.step = step;
  return index;
}
inline constexpr Index kAll(Index::Kind::range);          // :
inline constexpr Index kNewAxis(Index::Kind::new_axis);   // None
inline constexpr Index kEllipsis(Index::Kind::ellipsis);  // ... as many kAll as there is room for

// get_item(x, {kAll, 0}) is x[:, 0]. The axis of rows must be taken whole. Throws ShapeError for
// what is outside of x, and where nothing would be left.
Value get_item(Value x, const std::vector<Index>& key);

// With an axis of 1 in that place; without an axis of 1 (none given: without all of them).
Value expand_dims(Value x, int axis);
Value squeeze(Value x, std::optional<int> axis = std::nullopt);

}  // namespace snug::ops

#include "snug/interop/declared_sizes.h"

#include <cstdlib>

#include "snug/base/error.h"

namespace snug {
namespace {

std::vector<int64_t> counts(const Shape& shape) {
  std::vector<int64_t> counts;
  for (const Extent extent : shape.extents()) counts.push_back(extent.count);
  return counts;
}

}  // namespace

bool is_countable(std::span<const int64_t> extents) {
  int64_t elements = 1;
  for (const int64_t extent : extents) {
    if (extent == 0) continue;
    if (extent > kMostElements || extent < -kMostElements) return false;
    if (std::abs(extent) > kMostElements / elements) return false;
    elements *= std::abs(extent);
  }
  return true;
}

void expect_countable(const LayerDefinition& layer, const Symbols& symbols,
                      const std::string& where) {
  for (const VariablePtr& weight : layer.own_variables()) {
    if (is_countable(counts(weight->type().shape))) continue;
    throw Error("{}: its weight {} would have the shape {}, more than any machine holds", where,
                weight->name(), weight->type().shape.text());
  }
  for (const Symbol& symbol : symbols) {
    if (is_countable(counts(symbol.shape()))) continue;
    throw Error("{}: its result would have the shape {}, more than any machine holds", where,
                symbol.shape().text());
  }
}

}  // namespace snug

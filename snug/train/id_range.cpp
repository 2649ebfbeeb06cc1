#include "snug/train/id_range.h"

#include <algorithm>

namespace snug {
namespace {

// The value that another one is but a form of.
Value form_of(Value value) {
  for (const Node* node = value.producer(); node != nullptr; node = value.producer()) {
    const std::string_view op = node->op().name();
    if (op != "cast" && op != "reshape") break;
    value = node->input(0);
  }
  return value;
}

// All of them at first, which the compiler makes vectors of.
template <typename T, typename IsBad>
std::optional<int64_t> first_bad(std::span<const T> ids, const IsBad& is_bad) {
  unsigned any = 0;
  for (const T id : ids) any |= static_cast<unsigned>(is_bad(id));
  if (any == 0) return std::nullopt;
  return std::ranges::find_if(ids, is_bad) - ids.begin();
}

}  // namespace

std::optional<int64_t> ids_below(const Graph& graph, Value input) {
  std::optional<int64_t> below;
  for (const Node* node : graph.nodes()) {
    if (node->op().name() != "embedding" || form_of(node->input(1)) != input) continue;
    const int64_t rows = node->input(0).shape()[0];
    below = std::min(below.value_or(rows), rows);
  }
  return below;
}

std::optional<int64_t> first_bad_id(const Tensor& slot, int64_t below) {
  if (slot.type.dtype == DType::int32) {
    const auto end = static_cast<uint32_t>(std::min<int64_t>(below, INT32_MAX));
    // One that is below 0 is a large one without its sign.
    return first_bad<int32_t>(slot.as<int32_t>(),
                              [end](int32_t id) { return static_cast<uint32_t>(id) >= end; });
  }
  if (slot.type.dtype == DType::float32) {
    const auto end = static_cast<float>(below);
    return first_bad<float>(slot.as<float>(), [end](float id) { return !(id > -1 && id < end); });
  }
  return std::nullopt;
}

}  // namespace snug

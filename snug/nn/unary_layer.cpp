#include "snug/nn/unary_layer.h"

#include "snug/base/error.h"
#include "snug/ops/ops.h"

namespace snug {
namespace {

void expect_one(const LayerDefinition& layer, size_t count) {
  if (count == 1) return;
  throw ShapeError(
      "{}: it takes one input, but was called on {}; join them first (Concatenate, Add)",
      layer.label(), count);
}

}  // namespace

void UnaryLayer::build(const Types& in) {
  expect_one(*this, in.size());
  build_for(in[0].shape);
}

Values UnaryLayer::call(Tracer& tracer, const Values& in) {
  expect_one(*this, in.size());
  Value x = in[0];
  if (!keeps_dtype() && x.dtype() != DType::float32) {
    x = ops::cast(x, DType::float32);
    tracer.set_mask(x, tracer.mask(in[0]));
  }
  return {apply(tracer, x)};
}

void UnaryLayer::expect_rank(const Shape& x, int rank, std::string_view axes,
                             std::string_view advice) const {
  if (x.rank() == rank) return;
  throw ShapeError("{}: expected {}, got {}; {}", label(), axes, x.text(), advice);
}

void UnaryLayer::expect_channels(const Shape& x, int64_t channels) const {
  if (x.rank() > 0 && x.extent(-1) == Extent(channels)) return;
  throw ShapeError(
      "{}: its weights are for {} channels in the last axis, got {}; a layer that is used twice "
      "needs inputs with the same channels",
      label(), channels, x.text());
}

void UnaryLayer::expect_positive(std::string_view setting, int64_t value,
                                 std::string_view advice) const {
  if (value < 1) throw Error("{}: {} is {}; {}", label(), setting, value, advice);
}

}  // namespace snug

// A value filled with one number.

#include <algorithm>

#include "snug/base/error.h"
#include "snug/ops/ops.h"

namespace snug::ops {
namespace {

class FillKernel final : public Kernel {
 public:
  FillKernel(int64_t size, float value) : size_(size), value_(value) {}
  void run(const Run& run) const noexcept override { std::fill_n(run.output(), size_, value_); }

 private:
  int64_t size_;
  float value_;
};

class Constant final : public Op {
 public:
  Constant(const Shape& shape, float value) : shape_(shape), value_(value) {}

  std::string_view name() const override { return "constant"; }
  std::string attributes() const override { return fmt::format("{}", value_); }
  Types infer(const Types&) const override { return {{DType::float32, shape_}}; }
  Values gradient(const Node&, const Values&) const override { return {}; }
  Cost cost(const Types&) const override {
    return {.bytes = static_cast<double>(shape_.size()) * sizeof(float)};
  }
  std::unique_ptr<Kernel> kernel(const Types&, const Target&) const override {
    return std::make_unique<FillKernel>(shape_.size(), value_);
  }

 private:
  Shape shape_;
  float value_;
};

}  // namespace

Value constant(Graph& graph, const Shape& shape, float value) {
  if (shape.is_symbolic()) {
    throw ShapeError("constant: {} has rows; fill a fixed shape and broadcast it with broadcast_to",
                     shape.text());
  }
  return graph.add<Constant>({}, shape, value);
}

}  // namespace snug::ops

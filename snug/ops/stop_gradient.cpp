// The value itself, seen as a constant by gradients.

#include "snug/ops/move.h"
#include "snug/ops/ops.h"

namespace snug::ops {
namespace {

class StopGradient final : public Op {
 public:
  std::string_view name() const override { return "stop_gradient"; }
  Types infer(const Types& in) const override { return in; }
  Values gradient(const Node&, const Values&) const override { return {Value()}; }
  Rows rows(const Types&) const override { return Rows::each; }
  Cost cost(const Types& in) const override { return {.bytes = moved_bytes(in[0])}; }
  std::unique_ptr<Kernel> kernel(const Types& in, const Target& target) const override {
    return std::make_unique<CopyKernel>(in[0].bytes(), target);
  }
};

}  // namespace

Value stop_gradient(Value x) { return x.graph().add<StopGradient>({x}); }

}  // namespace snug::ops

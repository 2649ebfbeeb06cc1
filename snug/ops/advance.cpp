// The count of updates.

#include "snug/base/error.h"
#include "snug/ops/update.h"

namespace snug::ops {
namespace {

class AdvanceKernel final : public Kernel {
 public:
  void run(const Run& run) const noexcept override {
    *const_cast<int64_t*>(run.input<int64_t>(0)) += 1;
  }
};

class Advance final : public Op {
 public:
  std::string_view name() const override { return "advance"; }

  Types infer(const Types& in) const override {
    if (in[0] == Type{DType::int64, {}}) return {};
    throw ShapeError("advance: the count of iterations is {}; it must be int64[]", in[0].text());
  }

  Values gradient(const Node&, const Values&) const override { return {Value()}; }
  Traits traits() const override { return {.writes = {0}}; }
  Cost cost(const Types&) const override { return {.flops = 1, .bytes = 2 * sizeof(int64_t)}; }

  std::unique_ptr<Kernel> kernel(const Types&, const Target&) const override {
    return std::make_unique<AdvanceKernel>();
  }
};

}  // namespace

void advance(Value iterations) { iterations.graph().add_all<Advance>({iterations}); }

}  // namespace snug::ops

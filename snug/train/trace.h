// A step of one's own: traced once on symbolic values, planned once, and then only run.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "snug/nn/layer.h"
#include "snug/optim/optimizer.h"
#include "snug/tensor/arena.h"
#include "snug/train/runner.h"

namespace snug {

// Inside a trace: asks for gradients of what was computed so far.
class GradientTape {
 public:
  // The gradient of the sum of `y`'s elements with respect to each variable; an empty Value where y
  // does not depend on it.
  Values gradient(Value y, const Variables& variables) const;
};

// The values that stand for variables in the graph that is being traced.
Values traced(const Variables& variables);

// Inside a trace: adds the update. The optimizer's slots live as long as the state does; give the
// same one to every step that shares them.
class OptimizerState {
 public:
  explicit OptimizerState(Optimizer optimizer) : optimizer_(std::move(optimizer)) {}
  void apply_gradients(const Values& gradients, const Variables& variables);
  int64_t iterations() const;
  const Optimizer& optimizer() const { return optimizer_; }
  const Variables& slots() const { return slots_; }

 private:
  friend class Step;
  Optimizer optimizer_;
  Variables slots_;
  OptimizerNodes nodes_;
};

struct TraceSpec {
  Types inputs, targets;  // With rows outermost.
  int64_t batch_size = 32;
};

struct TraceOptions {
  int64_t memory = 0;
  int threads = 0;
  uint64_t seed = 0;
  bool training = true;
};

class Step {
 public:
  using Function = std::function<Value(const Values& x, const Values& y)>;
  Step(const TraceSpec& spec, const TraceOptions& options, const Function& function);

  // Fill these, then run. The result is what the function returned.
  Tensor input(int i) const;
  Tensor target(int i) const;
  float run();
  const Program& program() const { return runner_->program(spec_.batch_size); }

 private:
  TraceSpec spec_;
  TraceOptions options_;
  std::vector<OptimizerState*> optimizers_;
  std::unique_ptr<Runner> runner_;
  Value result_;
  Arena arena_;
  StepInfo info_;
};

inline Step trace(const TraceSpec& spec, const TraceOptions& options,
                  const Step::Function& function) {
  return Step(spec, options, function);
}

}  // namespace snug

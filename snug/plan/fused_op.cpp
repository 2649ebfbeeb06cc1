#include "snug/plan/fused_op.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "snug/base/error.h"
#include "snug/base/threads.h"
#include "snug/kernels/norm.h"
#include "snug/ops/batch_norm.h"
#include "snug/ops/binary.h"
#include "snug/ops/elementwise.h"
#include "snug/ops/unary.h"

namespace snug {
namespace {

using ops::BroadcastReader;
using ops::kBlock;

// Where a step finds an operand or leaves its result.
struct Slot {
  enum class Where { input, output, block } where = Where::block;
  int index = 0;
};

struct BoundStep {
  const ElementwiseBlock* block = nullptr;
  std::vector<Slot> operands;
  Slot result;
};

// A normalisation, a sum with another value or none, and a rectification or none: common enough,
// and on data large enough, for a loop of its own. Numbers of inputs; -1 where there is none.
struct NormaliseChain {
  int x = 0, scale = 1, shift = 2, addend = -1;
  kernels::After after = kernels::After::nothing;
};

std::optional<NormaliseChain> normalise_chain(const std::vector<FusedStep>& steps, int inputs) {
  if (!ops::is_batch_normalise(*steps[0].op) || steps.size() > 3) return std::nullopt;
  NormaliseChain chain{
      .x = steps[0].operands[0], .scale = steps[0].operands[1], .shift = steps[0].operands[2]};
  size_t next = 1;
  if (next < steps.size() && ops::is_add(*steps[next].op)) {
    const std::vector<int>& operands = steps[next].operands;
    chain.addend = operands[0] == inputs ? operands[1] : operands[0];
    if (chain.addend >= inputs) return std::nullopt;
    ++next;
  }
  if (next < steps.size() && ops::is_relu(*steps[next].op)) chain.after = kernels::After::relu;
  if (next < steps.size() && ops::is_relu6(*steps[next].op)) chain.after = kernels::After::relu6;
  if (chain.after != kernels::After::nothing) ++next;
  if (next < steps.size()) return std::nullopt;
  return chain;
}

class FusedKernel final : public Kernel, public WatchedKernel {
 public:
  FusedKernel(std::vector<BoundStep> steps, int outputs, std::optional<NormaliseChain> chain,
              const Types& in, const Shape& shape, const Target& target)
      : steps_(std::move(steps)),
        outputs_(outputs),
        chain_(chain),
        channels_(chain ? in[chain->scale].shape.size() : 1),
        size_(shape.size()),
        threads_(ops::elementwise_threads(size_, target)) {
    for (const Type& type : in) readers_.emplace_back(type.shape, shape);
    for (const BoundStep& step : steps_) {
      if (step.result.where == Slot::Where::block)
        blocks_ = std::max(blocks_, step.result.index + 1);
    }
    choose_block(in);
    if (chain && chain->addend >= 0 && !readers_[chain->addend].is_whole()) chain_.reset();
  }

  size_t scratch_bytes() const override {
    return threads_ * blocks_a_thread() * kBlock * sizeof(float);
  }

  // Safe where the input is not read again after the step that writes the output.
  std::vector<int> overwrites(int output) const override {
    std::vector<int> inputs;
    for (int input = 0; input < static_cast<int>(readers_.size()); ++input) {
      if (readers_[input].is_whole() && last_read(input) <= written(output))
        inputs.push_back(input);
    }
    return inputs;
  }

  void run(const Run& run) const noexcept override {
    if (chain_) return run_chain(run);
    const int64_t count = (size_ + block_ - 1) / block_;
    parallel_parts(threads_, [&](int part) {
      float* scratch = static_cast<float*>(run.scratch) + part * blocks_a_thread() * kBlock;
      read_repeated(run, scratch);
      for (int64_t block = count * part / threads_; block < count * (part + 1) / threads_;
           ++block) {
        run_block(run, block * block_, scratch, [](size_t, const float*) {});
      }
    });
  }

  std::optional<Bad> run_watched(const Run& run) const noexcept override {
    std::optional<Bad> bad;
    auto* scratch = static_cast<float*>(run.scratch);
    read_repeated(run, scratch);
    for (int64_t first = 0; first < size_; first += block_) {
      const int64_t count = std::min(block_, size_ - first);
      run_block(run, first, scratch, [&](size_t step, const float* result) {
        if (bad && bad->step <= static_cast<int>(step)) return;
        const float* found =
            std::find_if_not(result, result + count, [](float x) { return std::isfinite(x); });
        if (found != result + count)
          bad = Bad{static_cast<int>(step), first + (found - result), *found};
      });
    }
    return bad;
  }

 private:
  void run_chain(const Run& run) const noexcept {
    parallel_ranges(size_ / channels_, threads_, 1, [&](int64_t begin, int64_t end) {
      const int64_t at = begin * channels_;
      const float* addend = chain_->addend < 0 ? nullptr : run.input(chain_->addend) + at;
      kernels::batch_norm_apply(run.input(chain_->x) + at, run.input(chain_->scale),
                                run.input(chain_->shift), run.output() + at, end - begin, channels_,
                                {addend, chain_->after});
    });
  }

  size_t blocks_a_thread() const { return readers_.size() + blocks_; }
  static float* own(float* scratch, size_t input) { return scratch + input * kBlock; }

  // What a block reads and writes stays in the first cache. An operand whose whole repeats within a
  // block looks the same in every block, and is read once: so blocks are as long as makes that true
  // of all such operands together, where that is not too long. Steps may want whole rows, too.
  void choose_block(const Types& in) {
    constexpr int64_t kLine = 16, kCachedFloats = 4096;
    const auto streams = static_cast<int64_t>(blocks_a_thread()) + outputs_;
    const int64_t wanted = std::min(kBlock, kCachedFloats / streams);
    int64_t period = kLine;
    for (size_t i = 0; i < in.size(); ++i) {
      const int64_t joined = std::lcm(period, std::max<int64_t>(in[i].shape.size(), 1));
      if (readers_[i].repeats() && joined <= kBlock) period = joined;
    }
    for (const BoundStep& step : steps_) {
      const int64_t joined = std::lcm(period, step.block->stride());
      if (joined <= wanted) period = joined;
    }
    block_ = std::max<int64_t>(wanted / period, 1) * period;
    for (size_t i = 0; i < in.size(); ++i) {
      const int64_t operand = in[i].shape.size();
      repeats_.push_back(readers_[i].repeats() && operand > 0 && block_ % operand == 0);
    }
  }

  int last_read(int input) const {
    int last = -1;
    for (size_t step = 0; step < steps_.size(); ++step) {
      for (const Slot& slot : steps_[step].operands) {
        if (slot.where == Slot::Where::input && slot.index == input) last = static_cast<int>(step);
      }
    }
    return last;
  }

  int written(int output) const {
    for (size_t step = 0; step < steps_.size(); ++step) {
      const Slot& slot = steps_[step].result;
      if (slot.where == Slot::Where::output && slot.index == output) return static_cast<int>(step);
    }
    return -1;
  }

  void read_repeated(const Run& run, float* scratch) const noexcept {
    for (size_t i = 0; i < readers_.size(); ++i) {
      if (!repeats_[i]) continue;
      readers_[i].read(run.input(static_cast<int>(i)), 0, std::min(block_, size_), own(scratch, i));
    }
  }

  template <typename After>
  void run_block(const Run& run, int64_t first, float* scratch, const After& after) const noexcept {
    const int64_t count = std::min(block_, size_ - first);
    for (size_t i = 0; i < readers_.size(); ++i) {
      if (repeats_[i] || readers_[i].is_whole()) continue;
      readers_[i].read(run.input(static_cast<int>(i)), first, count, own(scratch, i));
    }
    const auto locate = [&](const Slot& slot) -> float* {
      if (slot.where == Slot::Where::block)
        return scratch + (readers_.size() + slot.index) * kBlock;
      if (slot.where == Slot::Where::output) return run.output(slot.index) + first;
      if (!readers_[slot.index].is_whole()) return own(scratch, slot.index);
      return const_cast<float*>(run.input(slot.index)) + first;
    };
    const BlockPlace place{.first = first, .run = &run};
    for (size_t k = 0; k < steps_.size(); ++k) {
      const BoundStep& step = steps_[k];
      const float* operands[ops::kMostElementwiseInputs];
      for (size_t i = 0; i < step.operands.size(); ++i) operands[i] = locate(step.operands[i]);
      float* result = locate(step.result);
      step.block->run_block(operands, result, count, place);
      after(k, result);
    }
  }

  std::vector<BoundStep> steps_;
  int outputs_;
  std::optional<NormaliseChain> chain_;
  int64_t channels_;  // Of the chain.
  int64_t size_;
  int threads_;
  std::vector<BroadcastReader> readers_;
  std::vector<bool> repeats_;
  int64_t block_ = kBlock;  // Floats; at most kBlock.
  int blocks_ = 0;
};

class FusedOp final : public Op {
 public:
  FusedOp(std::vector<FusedStep> steps, std::vector<int> outputs, std::vector<Shape> inputs,
          const Shape& shape)
      : steps_(std::move(steps)),
        outputs_(std::move(outputs)),
        inputs_(std::move(inputs)),
        shape_(shape) {
    for (const FusedStep& step : steps_) {
      if (!name_.empty()) name_ += '+';
      name_ += step.op->name();
    }
    bind();
  }

  std::string_view name() const override { return name_; }
  const std::string& label(int step) const { return steps_[step].label; }
  Types infer(const Types&) const override {
    return Types(outputs_.size(), {DType::float32, shape_});
  }
  Values gradient(const Node&, const Values&) const override { refuse_second_gradient(name_); }
  Rows rows(const Types&) const override { return Rows::each; }

  Traits traits() const override {
    Traits traits;
    for (const FusedStep& step : steps_) traits.random |= step.op->traits().random;
    return traits;
  }

  Cost cost(const Types& in) const override {
    const Shape shape = concrete(in);
    Cost cost = ops::elementwise_cost(in, shape, 0);
    cost.bytes += static_cast<double>(outputs_.size() - 1) * static_cast<double>(shape.size()) *
                  sizeof(float);
    for (const FusedStep& step : steps_) {
      cost.flops += step.op->cost(Types(step.operands.size(), {DType::float32, shape})).flops;
    }
    return cost;
  }

  std::unique_ptr<Kernel> kernel(const Types& in, const Target& target) const override {
    const std::optional<NormaliseChain> chain =
        outputs_.size() == 1 ? normalise_chain(steps_, static_cast<int>(inputs_.size()))
                             : std::nullopt;
    return std::make_unique<FusedKernel>(bound_, static_cast<int>(outputs_.size()), chain, in,
                                         concrete(in), target);
  }

 private:
  // The result's shape at the number of rows that the inputs have: a kernel sees concrete types
  // only, so the open axis of an input tells.
  Shape concrete(const Types& in) const {
    if (!shape_.is_symbolic()) return shape_;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      for (int axis = 0; axis < inputs_[i].rank(); ++axis) {
        const Extent extent = inputs_[i].extent(axis);
        if (extent.times_rows) return shape_.at(in[i].shape[axis] / extent.count);
      }
    }
    throw InternalError("{}: no input tells the number of rows", name_);
  }

  // Results that leave go straight to their place; the others take the first block that is free.
  void bind() {
    const int inputs = static_cast<int>(inputs_.size());
    std::vector<int> last_use(steps_.size(), -1);
    for (size_t step = 0; step < steps_.size(); ++step) {
      for (const int operand : steps_[step].operands) {
        if (operand >= inputs) last_use[operand - inputs] = static_cast<int>(step);
      }
    }
    std::vector<Slot> slots(steps_.size());
    std::vector<int> free_at;  // For each block: the step after which it is free.
    for (size_t step = 0; step < steps_.size(); ++step) {
      BoundStep bound{.block = steps_[step].op->elementwise()};
      for (const int operand : steps_[step].operands) {
        bound.operands.push_back(operand < inputs ? Slot{Slot::Where::input, operand}
                                                  : slots[operand - inputs]);
      }
      const auto output = std::ranges::find(outputs_, static_cast<int>(step));
      if (output != outputs_.end()) {
        slots[step] = {Slot::Where::output, static_cast<int>(output - outputs_.begin())};
      } else {
        auto block =
            std::ranges::find_if(free_at, [&](int at) { return at <= static_cast<int>(step); });
        if (block == free_at.end()) block = free_at.insert(free_at.end(), 0);
        *block = last_use[step];
        slots[step] = {Slot::Where::block, static_cast<int>(block - free_at.begin())};
      }
      bound.result = slots[step];
      bound_.push_back(std::move(bound));
    }
  }

  std::vector<FusedStep> steps_;
  std::vector<int> outputs_;
  std::vector<Shape> inputs_;
  Shape shape_;
  std::string name_;
  std::vector<BoundStep> bound_;
};

}  // namespace

std::shared_ptr<const Op> fused_op(std::vector<FusedStep> steps, std::vector<int> outputs,
                                   std::vector<Shape> inputs, const Shape& shape) {
  return std::make_shared<FusedOp>(std::move(steps), std::move(outputs), std::move(inputs), shape);
}

std::string fused_label(const Op& op, int step) {
  const auto* fused = dynamic_cast<const FusedOp*>(&op);
  return fused == nullptr ? std::string() : fused->label(step);
}

}  // namespace snug

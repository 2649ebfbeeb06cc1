// Writes to variables, after everything that only computes.

#include <cstring>

#include "snug/base/error.h"
#include "snug/ops/move.h"
#include "snug/ops/ops.h"

namespace snug::ops {
namespace {

class AssignKernel final : public Kernel {
 public:
  explicit AssignKernel(size_t bytes) : bytes_(bytes) {}
  void run(const Run& run) const noexcept override {
    std::memcpy(const_cast<void*>(run.in[0]), run.in[1], bytes_);
  }

 private:
  size_t bytes_;
};

template <typename T>
class AssignAddKernel final : public Kernel {
 public:
  explicit AssignAddKernel(int64_t size) : size_(size) {}
  void run(const Run& run) const noexcept override {
    T* variable = const_cast<T*>(run.input<T>(0));
    const T* value = run.input<T>(1);
    for (int64_t i = 0; i < size_; ++i) variable[i] += value[i];
  }

 private:
  int64_t size_;
};

class Assign final : public Op {
 public:
  explicit Assign(bool adds) : adds_(adds) {}

  std::string_view name() const override { return adds_ ? "assign_add" : "assign"; }

  Types infer(const Types& in) const override {
    if (in[0] != in[1]) {
      throw ShapeError("{}: the variable is {}, the value {}; they must be of one type", name(),
                       in[0].text(), in[1].text());
    }
    if (adds_ && size_of(in[0].dtype) == 1) {
      throw ShapeError("assign_add: the variable is {}; only numbers of 4 or 8 bytes add up",
                       in[0].text());
    }
    return {};
  }

  Values gradient(const Node&, const Values&) const override { return {Value(), Value()}; }
  Traits traits() const override { return {.writes = {0}}; }

  Cost cost(const Types& in) const override {
    const auto size = static_cast<double>(in[0].shape.size());
    return {.flops = adds_ ? size : 0,
            .bytes = moved_bytes(in[0]) + (adds_ ? static_cast<double>(in[0].bytes()) : 0)};
  }

  std::unique_ptr<Kernel> kernel(const Types& in, const Target&) const override {
    const int64_t size = in[0].shape.size();
    if (!adds_) return std::make_unique<AssignKernel>(in[0].bytes());
    switch (in[0].dtype) {
      case DType::float32:
        return std::make_unique<AssignAddKernel<float>>(size);
      case DType::float64:
        return std::make_unique<AssignAddKernel<double>>(size);
      case DType::int32:
        return std::make_unique<AssignAddKernel<int32_t>>(size);
      default:
        return std::make_unique<AssignAddKernel<int64_t>>(size);
    }
  }

 private:
  bool adds_;
};

// What is written is the value as the step's computing nodes see it. A variable may be changed by
// an earlier commit, so it is copied while nothing has been written yet.
Value before_commits(Value value) {
  const bool variable = value.graph().source(value.id()) == Graph::Source::variable;
  return variable ? stop_gradient(value) : value;
}

void add_assign(Value variable, Value value, bool adds) {
  variable.graph().add_all<Assign>({variable, before_commits(value)}, adds);
}

}  // namespace

void assign(Value variable, Value value) { add_assign(variable, value, false); }
void assign_add(Value variable, Value value) { add_assign(variable, value, true); }

}  // namespace snug::ops

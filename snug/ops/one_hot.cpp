// A row of zeros with a 1 at the index; all zeros for an index outside the classes, as Keras.

#include "snug/base/error.h"
#include "snug/base/threads.h"
#include "snug/kernels/embedding.h"
#include "snug/ops/move.h"
#include "snug/ops/ops.h"

namespace snug::ops {
namespace {

class OneHotKernel final : public Kernel {
 public:
  OneHotKernel(int64_t size, int64_t classes, const Target& target)
      : size_(size), classes_(classes) {
    const auto bytes = size * classes * static_cast<int64_t>(sizeof(float));
    threads_ = bytes < kWorthThreadsBytes ? 1 : target.threads;
  }

  void run(const Run& run) const noexcept override {
    parallel_ranges(size_, threads_, 1, [&](int64_t begin, int64_t end) {
      kernels::one_hot(run.input<int32_t>(0) + begin, run.output() + begin * classes_, end - begin,
                       classes_);
    });
  }

 private:
  int64_t size_, classes_;
  int threads_;
};

class OneHot final : public Op {
 public:
  explicit OneHot(int64_t classes) : classes_(classes) {}

  std::string_view name() const override { return "one_hot"; }
  std::string attributes() const override { return fmt::format("classes={}", classes_); }

  Types infer(const Types& in) const override {
    if (in[0].dtype != DType::int32) {
      throw ShapeError("one_hot: the indices are {}; they must be int32: cast them first",
                       in[0].text());
    }
    if (classes_ < 1) throw ShapeError("one_hot: {} classes; give at least 1", classes_);
    Shape y = in[0].shape;
    y.push_back(classes_);
    return {{DType::float32, y}};
  }

  Values gradient(const Node&, const Values&) const override { return {Value()}; }
  Rows rows(const Types&) const override { return Rows::each; }

  Cost cost(const Types& in) const override {
    return {.bytes = static_cast<double>(in[0].shape.size()) * static_cast<double>(classes_ + 1) *
                     sizeof(float)};
  }

  std::unique_ptr<Kernel> kernel(const Types& in, const Target& target) const override {
    return std::make_unique<OneHotKernel>(in[0].shape.size(), classes_, target);
  }

 private:
  int64_t classes_;
};

}  // namespace

Value one_hot(Value indices, int64_t classes) {
  return indices.graph().add<OneHot>({indices}, classes);
}

}  // namespace snug::ops

// For tests of the guard: an op that does what another does, but for one element at one moment.
#pragma once

#include <memory>

#include "snug/graph/graph.h"

namespace snug::testing {

// What goes wrong, and when: in the batch that holds the row at `position` of the epoch.
struct NodeFault {
  uint64_t epoch = 0;
  int64_t position = 0;
  int64_t batch_rows = 0;
  float value = 0;
};

// Names, types, costs and kernels are the inner op's: so the plan is the same.
class FaultyOp final : public Op, ElementwiseBlock {
 public:
  FaultyOp(const Node& node, const NodeFault& fault) : inner_(node.shared_op()), fault_(fault) {
    const Shape& shape = node.output().shape();
    size_ = shape.has_rows() ? shape.part(1, shape.rank()).size() : shape.size();
    if (!shape.has_rows()) return;
    for (size_t i = 0; i < node.in().size(); ++i) {
      if (has_plain_rows(node.input(static_cast<int>(i)))) row_input_ = static_cast<int>(i);
    }
  }
  // Whether a row of the output can be told from its place.
  static bool can_strike(const Node& node) {
    if (node.commits() || node.output().dtype() != DType::float32) return false;
    if (!node.output().shape().has_rows()) return true;
    if (!has_plain_rows(node.output())) return false;
    for (size_t i = 0; i < node.in().size(); ++i) {
      if (has_plain_rows(node.input(static_cast<int>(i)))) return true;
    }
    return false;
  }

  std::string_view name() const override { return inner_->name(); }
  std::string attributes() const override { return inner_->attributes(); }
  Types infer(const Types& in) const override { return inner_->infer(in); }
  Values gradient(const Node& node, const Values& dy) const override {
    return inner_->gradient(node, dy);
  }
  snug::Rows rows(const Types& in) const override { return inner_->rows(in); }
  Traits traits() const override { return inner_->traits(); }
  Cost cost(const Types& in) const override { return inner_->cost(in); }
  std::unique_ptr<Kernel> kernel(const Types& in, const Target& target) const override {
    const int64_t rows = row_input_ < 0 ? 1 : in[row_input_].shape[0];
    return std::make_unique<FaultyKernel>(inner_->kernel(in, target), *this, rows * size_);
  }
  const ElementwiseBlock* elementwise() const override {
    return inner_->elementwise() == nullptr ? nullptr : this;
  }
  void run_block(const float* const* in, float* out, int64_t count,
                 const BlockPlace& place) const noexcept override {
    inner_->elementwise()->run_block(in, out, count, place);
    strike(out, place.first, count, *place.run);
  }

 private:
  class FaultyKernel final : public Kernel {
   public:
    FaultyKernel(std::unique_ptr<Kernel> inner, const FaultyOp& op, int64_t size)
        : inner_(std::move(inner)), op_(op), size_(size) {}
    size_t scratch_bytes() const override { return inner_->scratch_bytes(); }
    std::vector<int> overwrites(int output) const override { return inner_->overwrites(output); }
    bool accumulates() const override { return inner_->accumulates(); }
    size_t prepared_bytes() const override { return inner_->prepared_bytes(); }
    void prepare(const Run& run, void* prepared) const noexcept override {
      inner_->prepare(run, prepared);
    }
    void compile(int lanes) override { inner_->compile(lanes); }
    void rest() noexcept override { inner_->rest(); }
    void wake() noexcept override { inner_->wake(); }
    void run(const Run& run) const noexcept override {
      inner_->run(run);
      op_.strike(run.output(), 0, size_, run);
    }

   private:
    std::unique_ptr<Kernel> inner_;
    const FaultyOp& op_;
    int64_t size_;
  };

  static bool has_plain_rows(const Value& value) {
    return value.shape().has_rows() && value.shape().extent(0) == kRows;
  }

  // `out` holds `count` elements from `first` on of the part's value.
  void strike(float* out, int64_t first, int64_t count, const Run& run) const noexcept {
    const auto begin = static_cast<int64_t>(run.step->position);
    const int64_t row = fault_.position - begin;
    if (run.step->epoch != fault_.epoch || row < 0 || row >= fault_.batch_rows) return;
    int64_t at = 0;
    if (row_input_ >= 0) at = (row - run.first_row) * size_ + size_ / 2;
    if (at >= first && at < first + count) out[at - first] = fault_.value;
  }

  std::shared_ptr<const Op> inner_;
  NodeFault fault_;
  int64_t size_ = 0;    // Of a row, or of the value where it has none.
  int row_input_ = -1;  // An input that says how many rows there are; -1: the output has none.
};

}  // namespace snug::testing

// Rows of a table by index. The gradient of the table is kept as the distinct rows with their sums,
// so that a step costs what it touches, not what the table holds.

#include "snug/kernels/embedding.h"

#include <cstring>

#include "snug/base/error.h"
#include "snug/base/threads.h"
#include "snug/ops/move.h"
#include "snug/ops/ops.h"

namespace snug::ops {
namespace {

class GatherKernel final : public Kernel {
 public:
  GatherKernel(const Shape& table, int64_t count, const Target& target)
      : table_rows_(table[0]), columns_(table[1]), count_(count) {
    const auto bytes = count * columns_ * static_cast<int64_t>(sizeof(float));
    threads_ = bytes < kWorthThreadsBytes ? 1 : target.threads;
  }

  void run(const Run& run) const noexcept override {
    parallel_ranges(count_, threads_, 1, [&](int64_t begin, int64_t end) {
      kernels::gather_rows(run.input(0), table_rows_, run.input<int32_t>(1) + begin,
                           run.output() + begin * columns_, end - begin, columns_);
    });
  }

 private:
  int64_t table_rows_, columns_, count_;
  int threads_;
};

class RowSumsKernel final : public Kernel {
 public:
  RowSumsKernel(int64_t table_rows, int64_t columns, int64_t count)
      : table_rows_(table_rows), columns_(columns), count_(count) {}

  size_t scratch_bytes() const override { return kernels::row_sums_scratch_bytes(count_); }

  void run(const Run& run) const noexcept override {
    auto* indices = run.output<int32_t>(1);
    const int64_t distinct = kernels::row_sums(run.input<int32_t>(0), run.input(1), count_,
                                               columns_, indices, run.output(0), run.scratch);
    *run.output<int32_t>(2) = static_cast<int32_t>(drop_outside(run.output(0), indices, distinct));
  }

 private:
  // Closes the gaps that rows outside the table leave; answers how many stay.
  int64_t drop_outside(float* sums, int32_t* indices, int64_t distinct) const noexcept {
    int64_t kept = 0;
    for (int64_t i = 0; i < distinct; ++i) {
      if (indices[i] < 0 || indices[i] >= table_rows_) continue;
      if (kept < i) {
        indices[kept] = indices[i];
        std::memcpy(sums + kept * columns_, sums + i * columns_,
                    static_cast<size_t>(columns_) * sizeof(float));
      }
      ++kept;
    }
    return kept;
  }

  int64_t table_rows_, columns_, count_;
};

// (indices, dy) -> (sums [n, dim], distinct indices [n], their count [1]); n is the number of
// indices, and what stands behind the count is not defined.
class EmbeddingGradient final : public Op {
 public:
  explicit EmbeddingGradient(const Shape& table) : table_rows_(table[0]), columns_(table[1]) {}

  std::string_view name() const override { return "embedding_gradient"; }

  Types infer(const Types& in) const override {
    const Extent n(in[0].shape.size_per_row(), in[0].shape.is_symbolic());
    return {{DType::float32, {n, columns_}},
            {DType::int32, Shape{n}},
            {DType::int32, Shape{Extent(1)}}};
  }

  Values gradient(const Node&, const Values&) const override {
    refuse_second_gradient("embedding");
  }
  Traits traits() const override { return {.row_gradient = true}; }

  Cost cost(const Types& in) const override {
    const auto elements = static_cast<double>(in[1].shape.size());
    return {.flops = elements, .bytes = 2 * elements * sizeof(float)};
  }

  std::unique_ptr<Kernel> kernel(const Types& in, const Target&) const override {
    return std::make_unique<RowSumsKernel>(table_rows_, columns_, in[0].shape.size());
  }

 private:
  int64_t table_rows_, columns_;
};

class Embedding final : public Op {
 public:
  std::string_view name() const override { return "embedding"; }

  Types infer(const Types& in) const override {
    const Shape& table = in[0].shape;
    if (in[0].dtype != DType::float32 || table.rank() != 2 || table.is_symbolic()) {
      throw ShapeError("embedding: the table is {}; it must be float32 [entries, dim]",
                       in[0].text());
    }
    if (in[1].dtype != DType::int32) {
      throw ShapeError("embedding: the indices are {}; they must be int32: cast them first",
                       in[1].text());
    }
    Shape y = in[1].shape;
    y.push_back(table.extent(1));
    return {{DType::float32, y}};
  }

  Values gradient(const Node& node, const Values& dy) const override {
    const Shape& table = node.input(0).shape();
    return {node.graph().add<EmbeddingGradient>({node.input(1), dy[0]}, table), Value()};
  }

  Rows rows(const Types&) const override { return Rows::each; }

  Cost cost(const Types& in) const override {
    const auto count = static_cast<double>(in[1].shape.size());
    return {.bytes = count * (2.0 * static_cast<double>(in[0].shape[1]) + 1) * sizeof(float)};
  }

  std::unique_ptr<Kernel> kernel(const Types& in, const Target& target) const override {
    return std::make_unique<GatherKernel>(in[0].shape, in[1].shape.size(), target);
  }
};

class DenseKernel final : public Kernel {
 public:
  explicit DenseKernel(const Shape& table) : table_rows_(table[0]), columns_(table[1]) {}

  void run(const Run& run) const noexcept override {
    float* table = run.output();
    std::memset(table, 0, static_cast<size_t>(table_rows_ * columns_) * sizeof(float));
    kernels::scatter_add(run.input<int32_t>(1), run.input(0), *run.input<int32_t>(2), columns_,
                         table, table_rows_);
  }

 private:
  int64_t table_rows_, columns_;
};

class DenseRows final : public Op {
 public:
  explicit DenseRows(const Shape& table) : table_(table) {}

  std::string_view name() const override { return "dense_rows"; }

  Types infer(const Types& in) const override {
    const Shape& sums = in[0].shape;
    if (table_.rank() != 2 || table_.is_symbolic() || sums.extent(1) != table_.extent(1)) {
      throw ShapeError("dense_rows: sums of {} do not belong to a table of {}", sums.text(),
                       table_.text());
    }
    return {{DType::float32, table_}};
  }

  Values gradient(const Node&, const Values&) const override {
    refuse_second_gradient("embedding");
  }

  Cost cost(const Types& in) const override {
    const auto size = static_cast<double>(table_.size());
    const auto sums = static_cast<double>(in[0].shape.size());
    return {.flops = sums, .bytes = (size + 3 * sums) * sizeof(float)};
  }

  std::unique_ptr<Kernel> kernel(const Types&, const Target&) const override {
    return std::make_unique<DenseKernel>(table_);
  }

 private:
  Shape table_;
};

}  // namespace

Value embedding(Value table, Value indices) {
  return table.graph().add<Embedding>({table, indices});
}

Value dense_rows(Value row_gradient, const Shape& table) {
  const Node* node = row_gradient.producer();
  if (node == nullptr || !node->op().traits().row_gradient) {
    throw Error("dense_rows: {} is no gradient of rows; it is dense already", row_gradient.name());
  }
  return row_gradient.graph().add<DenseRows>({node->output(0), node->output(1), node->output(2)},
                                             table);
}

Value row_gradient_of(Value dense) {
  const Node* node = dense ? dense.producer() : nullptr;
  const bool had_rows = node != nullptr && dynamic_cast<const DenseRows*>(&node->op()) != nullptr;
  return had_rows ? node->input(0) : dense;
}

}  // namespace snug::ops

// The sum of values times weights, and of the weights.

#include "snug/ops/double_sums.h"
#include "snug/ops/metric_sums.h"

namespace snug::ops {
namespace {

class WeightedSums final : public DoubleSumsOp {
 public:
  std::string_view name() const override { return "weighted_sums"; }

  Types infer(const Types& in) const override {
    if (in[0].dtype != DType::float32) {
      throw ShapeError("weighted_sums: the values are {}; cast them to float32 first",
                       in[0].text());
    }
    check_weights(name(), in[0].shape, in, 1);
    return {{DType::float64, {2}}};
  }

  // A cell is what one weight weighs.
  std::unique_ptr<Kernel> kernel(const Types& in, const Target& target) const override {
    const int64_t per_cell = elements_per_weight(in[0].shape, in, 1);
    const int64_t size = in[0].shape.size();
    const bool weighted = in.size() > 1;
    const auto body = [=](const Run& run, int64_t begin, int64_t end, double* sums) {
      const float* values = run.input(0);
      double total = 0, count = weighted ? 0 : static_cast<double>(end - begin);
      for (int64_t cell = begin; cell < end; ++cell) {
        double sum = 0;
        for (int64_t i = cell * per_cell; i < (cell + 1) * per_cell; ++i) sum += values[i];
        const double weight = weighted ? run.input(1)[cell] : 1;
        total += weight * (sum / static_cast<double>(per_cell));
        if (weighted) count += weight;
      }
      sums[0] += total;
      sums[1] += count;
    };
    return double_sums_kernel(size / per_cell, 2, size, target, body);
  }
};

}  // namespace

Value weighted_sums(Value values, Value weights) {
  if (!values) throw Error("weighted_sums: the values are empty");
  return values.graph().add<WeightedSums>(with_weights({values}, weights));
}

}  // namespace snug::ops

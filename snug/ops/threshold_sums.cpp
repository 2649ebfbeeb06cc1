// Weights by label and by how far up a list of thresholds the prediction stands: all that true and
// false positives and negatives at each threshold are made of.

#include <fmt/ranges.h>

#include "snug/ops/double_sums.h"
#include "snug/ops/metric_sums.h"

namespace snug::ops {
namespace {

class ThresholdSums final : public DoubleSumsOp {
 public:
  explicit ThresholdSums(const std::vector<float>& thresholds) : thresholds_(thresholds) {}

  std::string_view name() const override { return "threshold_sums"; }
  std::string attributes() const override {
    return fmt::format("thresholds={}", thresholds_.size());
  }

  Types infer(const Types& in) const override {
    if (in[0].dtype != DType::float32 || in[1] != in[0]) {
      throw ShapeError("threshold_sums: predictions {} and targets {} must be float32 of one shape",
                       in[0].text(), in[1].text());
    }
    check_weights(name(), in[0].shape, in, 2);
    return {{DType::float64, {2, std::ssize(thresholds_) + 1}}};
  }

  // The op outlives its kernels, so they read its thresholds.
  std::unique_ptr<Kernel> kernel(const Types& in, const Target& target) const override {
    const int64_t per_weight = elements_per_weight(in[0].shape, in, 2);
    const int64_t size = in[0].shape.size(), columns = std::ssize(thresholds_) + 1;
    const bool weighted = in.size() > 2;
    const auto body = [=, this](const Run& run, int64_t begin, int64_t end, double* sums) {
      for (int64_t i = begin; i < end; ++i) {
        const double weight = weighted ? run.input(2)[i / per_weight] : 1;
        sums[(run.input(1)[i] != 0 ? columns : 0) + above(run.input(0)[i])] += weight;
      }
    };
    return double_sums_kernel(size, 2 * columns, size, target, body);
  }

 private:
  // The thresholds that the prediction is above. NaN is above none.
  int64_t above(float prediction) const {
    if (prediction != prediction) return 0;
    return std::ranges::lower_bound(thresholds_, prediction) - thresholds_.begin();
  }

  std::vector<float> thresholds_;
};

}  // namespace

Value threshold_sums(Value predictions, Value targets, const std::vector<float>& thresholds,
                     Value weights) {
  if (!predictions || !targets)
    throw Error("threshold_sums: the {} are empty", predictions ? "targets" : "predictions");
  if (thresholds.empty() || !std::ranges::is_sorted(thresholds)) {
    throw Error("threshold_sums: the thresholds are {}; give at least one, in ascending order",
                fmt::join(thresholds, ", "));
  }
  return predictions.graph().add<ThresholdSums>(with_weights({predictions, targets}, weights),
                                                thresholds);
}

}  // namespace snug::ops

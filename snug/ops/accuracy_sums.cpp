// The share of predictions that hit their targets.

#include "snug/ops/double_sums.h"
#include "snug/ops/metric_sums.h"

namespace snug::ops {
namespace {

// Predictions of which the hits are counted before they are weighed.
constexpr int64_t kHits = 128;

// Whether x[place] is the largest, and the first of equals. Without branches: rows are short, and
// so are steps; it takes a third of the time of a search for the largest of ten.
bool is_largest(const float* x, int64_t columns, int64_t place) {
  if (place < 0 || place >= columns) return false;
  const float value = x[place];
  int32_t larger = 0, equal = 0;
  for (int64_t j = 0; j < columns; ++j) {
    larger += !(x[j] <= value);
    equal += x[j] == value;
  }
  if (larger > 0) return false;
  return equal == 1 || std::find(x, x + place, value) == x + place;
}

// The first of the largest.
int64_t place_of_largest(const float* x, int64_t columns) {
  constexpr int64_t kShort = 32;
  if (columns > kShort) return kernels::arg_max(x, columns);
  int64_t place = 0;
  float most = x[0];
  for (int64_t j = 1; j < columns; ++j) {
    const bool more = x[j] > most;
    most = more ? x[j] : most;
    place = more ? j : place;
  }
  return place;
}

// Of predictions [cells, columns]: the share of hits in each of `cells` from `first` on.
struct HitLoop {
  AccuracyOptions options;
  int64_t columns = 1;

  void operator()(const Run& run, int64_t first, int64_t cells, float* hits) const {
    const float* x = run.input(0) + first * columns;
    if (options.hit == Hit::sparse) return sparse(x, run.input<int32_t>(1) + first, cells, hits);
    const float* targets = run.input(1) + first * columns;
    if (options.hit == Hit::binary) return binary(x, targets, cells, hits);
    for (int64_t i = 0; i < cells; ++i, x += columns, targets += columns)
      hits[i] = is_largest(x, columns, place_of_largest(targets, columns)) ? 1.0f : 0.0f;
  }

  void sparse(const float* x, const int32_t* labels, int64_t cells, float* hits) const {
    for (int64_t i = 0; i < cells; ++i, x += columns)
      hits[i] = is_largest(x, columns, labels[i]) ? 1.0f : 0.0f;
  }

  void binary(const float* x, const float* targets, int64_t cells, float* hits) const {
    const float threshold = options.threshold;
    const auto hit = [=](float prediction, float target) {
      return target == (prediction > threshold ? 1.0f : 0.0f) ? 1.0f : 0.0f;
    };
    if (columns == 1) {
      for (int64_t i = 0; i < cells; ++i) hits[i] = hit(x[i], targets[i]);
      return;
    }
    for (int64_t i = 0; i < cells; ++i, x += columns, targets += columns) {
      float sum = 0;
      for (int64_t j = 0; j < columns; ++j) sum += hit(x[j], targets[j]);
      hits[i] = sum / static_cast<float>(columns);
    }
  }
};

class AccuracySums final : public DoubleSumsOp {
 public:
  explicit AccuracySums(const AccuracyOptions& options) : options_(options) {}

  std::string_view name() const override { return "accuracy_sums"; }
  std::string attributes() const override {
    if (options_.hit == Hit::binary) return fmt::format("threshold={}", options_.threshold);
    return options_.hit == Hit::sparse ? "sparse" : "categorical";
  }

  Types infer(const Types& in) const override {
    const Shape& x = in[0].shape;
    if (in[0].dtype != DType::float32 || x.rank() == 0 || x.extent(-1).times_rows || x[-1] == 0) {
      throw ShapeError("accuracy_sums: expected predictions float32[..., classes], got {}",
                       in[0].text());
    }
    const Type wanted = options_.hit == Hit::sparse ? Type{DType::int32, x.without(-1)} : in[0];
    if (in[1] != wanted) {
      throw ShapeError("accuracy_sums: predictions {} want targets {}, got {}", in[0].text(),
                       wanted.text(), in[1].text());
    }
    check_weights(name(), x.without(-1), in, 2);
    return {{DType::float64, {2}}};
  }

  std::unique_ptr<Kernel> kernel(const Types& in, const Target& target) const override {
    const Shape cells = in[0].shape.without(-1);
    const HitLoop loop{.options = options_, .columns = in[0].shape[-1]};
    const int64_t per_weight = elements_per_weight(cells, in, 2);
    const bool weighted = in.size() > 2;
    const auto body = [=](const Run& run, int64_t begin, int64_t end, double* sums) {
      float hits[kHits];
      for (int64_t first = begin; first < end; first += kHits) {
        const int64_t count = std::min(kHits, end - first);
        loop(run, first, count, hits);
        for (int64_t i = 0; i < count; ++i) {
          const double weight =
              weighted ? run.input(2)[(first + i) / per_weight] / static_cast<double>(per_weight)
                       : 1;
          sums[0] += weight * hits[i];
          sums[1] += weight;
        }
      }
    };
    return double_sums_kernel(cells.size(), 2, in[0].shape.size(), target, body);
  }

 private:
  AccuracyOptions options_;
};

}  // namespace

Value accuracy_sums(Value predictions, Value targets, Value weights,
                    const AccuracyOptions& options) {
  if (!predictions || !targets)
    throw Error("accuracy_sums: the {} are empty", predictions ? "targets" : "predictions");
  return predictions.graph().add<AccuracySums>(with_weights({predictions, targets}, weights),
                                               options);
}

}  // namespace snug::ops

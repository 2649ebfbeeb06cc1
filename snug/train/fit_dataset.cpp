// A Dataset says itself how its rows are ordered and batched.

#include "snug/base/error.h"
#include "snug/data/dataset.h"
#include "snug/train/model.h"

namespace snug {
namespace {

void check_batch_size(const Dataset& data, const std::optional<int64_t>& batch_size) {
  if (!batch_size || *batch_size == data.batch_size()) return;
  throw Error("batch_size is {}, but the Dataset has batches of {}; say it once, in batch()",
              *batch_size, data.batch_size());
}

// Or the pass would never come to its end.
void check_end(const Dataset& data, std::string_view option, const std::optional<int64_t>& steps) {
  if (data.is_endless() && !steps)
    throw Error("the Dataset repeats without end; give {}, or repeat a number of times", option);
}

}  // namespace

History Model::fit(const Dataset& data, FitOptions options) {
  check_batch_size(data, options.batch_size);
  check_end(data, "steps_per_epoch", options.steps_per_epoch);
  options.batch_size = data.batch_size();
  options.shuffle = false;
  return fit(data.source(), options);
}

Logs Model::evaluate(const Dataset& data, EvaluateOptions options) {
  check_batch_size(data, options.batch_size);
  check_end(data, "steps", options.steps);
  options.batch_size = data.batch_size();
  return evaluate(data.source(), options);
}

std::vector<std::vector<float>> Model::predict(const Dataset& data, EvaluateOptions options) {
  check_batch_size(data, options.batch_size);
  check_end(data, "steps", options.steps);
  options.batch_size = data.batch_size();
  return predict(data.source(), options);
}

}  // namespace snug

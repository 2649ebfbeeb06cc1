// The workloads that Snug is measured on (W1 ... W12 of the project's reference), as models and
// random data.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "snug/data/arrays.h"
#include "snug/train/model.h"

namespace snug::bench {

struct Workload {
  std::string name;
  int64_t batch = 32;
  int64_t steps = 1;  // Of a block: one pass over the rows held.
  std::function<Model()> model;
  CompileOptions compile;
  // Inputs as floats; integer inputs are drawn below `integer_bound` and held as floats that the
  // step casts.
  std::vector<Shape> inputs;
  int64_t integer_bound = 0;  // Of the last input, where it has integers.
  enum class Labels { binary, classes, pixels } labels = Labels::binary;
  int64_t classes = 1;
  double megaflops = 0;  // Of a step, by the reference's own count.
};

// All that the layers of today can express.
const std::vector<Workload>& workloads();
// Throws Error that lists the names.
const Workload& workload(std::string_view name);

// Random rows of a workload, `steps` batches of them. With integers in order, row i of a table
// comes in row i: a pass over enough steps touches every row of every table.
struct WorkloadData {
  enum class Integers { random, in_order };
  WorkloadData(const Workload& workload, int64_t steps, Integers integers = Integers::random);
  SourcePtr source;
  int64_t bytes() const;

 private:
  std::vector<std::vector<float>> inputs_;
  std::vector<int32_t> classes_;
  std::vector<float> targets_;
};

}  // namespace snug::bench

// One declared case of an op, and all the ways in which it can be wrong.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "snug/graph/graph.h"

namespace snug::testing {

using Doubles = std::vector<double>;

struct OpCase {
  // Float inputs are drawn from [low, high], integer ones from [0, integer_bound), bools are 0
  // or 1.
  Types inputs;
  std::function<Value(const Values&)> build;
  // The result in double precision, from the inputs in double precision. Shapes are those at
  // `rows`.
  std::function<Doubles(const std::vector<Doubles>&)> reference;
  Shape result;  // May be symbolic.
  int64_t rows = 5;
  double low = -2, high = 2;
  int64_t integer_bound = 4;
  double tolerance = 2e-6;           // Of the result, relative to its largest element.
  double gradient_tolerance = 1e-4;  // Likewise; the central differences of the reference limit it.
  bool has_gradient = true;
  std::vector<size_t> constants =
      {};  // Inputs that the op gives no gradient although it reads them.
  // A NaN or inf in an input may give an all-finite result (max of a window, where, comparisons
  // ...): the exceptions that docs/architecture.md lists.
  bool may_hide_nan = false;
  uint64_t seed = 1;
};

// Fails the running test for each of: the result's type; the result on one and two threads, whole
// and in parts of the rows, plain and checked (freed memory poisoned, scratch guarded); the
// gradient of every float input against central differences of the reference; every kernel written
// over the inputs that it claims to bear; every kernel run twice giving the same bits; a cost; a
// NaN that does not show; an infinity that becomes another number than the reference's.
void check_op(const OpCase& op_case);

// The values that a graph with inputs only gives for one set of inputs: for tests that need more
// than check_op.
struct RunOptions {
  int64_t rows = 5;
  int threads = 1;
  int64_t part_rows = 0;  // 0: whole.
  bool checked = false;
};
using Bytes = std::vector<std::byte>;
std::vector<Bytes> run_graph(const Graph& graph, const Values& results,
                             const std::vector<Bytes>& inputs, const RunOptions& options);

// Elements of a value as doubles, and back.
Doubles to_doubles(const Bytes& bytes, DType dtype);
Bytes to_bytes(const Doubles& doubles, DType dtype);

// The message of the Error that `action` throws; fails the test when it throws none.
std::string error_of(const std::function<void()>& action);

}  // namespace snug::testing

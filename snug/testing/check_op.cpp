#include "snug/testing/check_op.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "snug/autodiff/gradients.h"
#include "snug/base/error.h"
#include "snug/exec/program.h"
#include "snug/tensor/arena.h"
#include "snug/testing/sanitized.h"

namespace snug::testing {
namespace {

// Of a gradient, where the reference is asked for it. A sanitizer looks at kernels, which run as
// often, and references take most of its time.
constexpr size_t kSamples = kSanitized ? 6 : 60;

template <typename T>
Doubles widen(const Bytes& bytes) {
  Doubles result(bytes.size() / sizeof(T));
  for (size_t i = 0; i < result.size(); ++i) {
    T element;
    std::memcpy(&element, bytes.data() + i * sizeof(T), sizeof(T));
    result[i] = static_cast<double>(element);
  }
  return result;
}

template <typename T>
Bytes narrow(const Doubles& doubles) {
  Bytes result(doubles.size() * sizeof(T));
  for (size_t i = 0; i < doubles.size(); ++i) {
    const T element = static_cast<T>(doubles[i]);
    std::memcpy(result.data() + i * sizeof(T), &element, sizeof(T));
  }
  return result;
}

double largest(const Doubles& values) {
  double most = 0;
  for (const double value : values) {
    if (std::isfinite(value)) most = std::max(most, std::abs(value));
  }
  return most;
}

void expect_near(const Doubles& actual, const Doubles& expected, double tolerance,
                 const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  const double bound = tolerance * std::max(largest(expected), 1e-3);
  for (size_t i = 0; i < actual.size(); ++i) {
    const bool same_kind = std::isnan(actual[i]) == std::isnan(expected[i]) &&
                           std::isinf(actual[i]) == std::isinf(expected[i]);
    const bool near = std::isfinite(expected[i]) ? std::abs(actual[i] - expected[i]) <= bound
                                                 : !(actual[i] * expected[i] < 0);
    ASSERT_TRUE(same_kind && near)
        << what << ": element " << i << " is " << actual[i] << ", the reference " << expected[i]
        << " (bound " << bound << ")";
  }
}

// The case as a graph: y, the upstream gradient g of L = sum(y * g), and dL/dx of each float input.
struct CheckedGraph {
  Graph graph;
  Values inputs;
  Value y, upstream;
  Values gradients;
  std::vector<size_t> differentiated;  // Which inputs `gradients` belongs to.

  explicit CheckedGraph(const OpCase& c) {
    for (const Type& type : c.inputs) {
      inputs.push_back(graph.input("x" + std::to_string(inputs.size()), type));
    }
    y = c.build(inputs);
    if (!c.has_gradient) return;
    upstream = graph.input("g", y.type());
    Values wrt;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!is_float(inputs[i].dtype())) continue;
      wrt.push_back(inputs[i]);
      differentiated.push_back(i);
    }
    gradients = snug::gradients(y, upstream, wrt);
  }

  Values results() const {
    Values all = {y};
    for (const Value& gradient : gradients) {
      if (gradient) all.push_back(gradient);
    }
    return all;
  }
};

class OpChecker {
 public:
  explicit OpChecker(const OpCase& c) : case_(c), random_(c.seed), checked_(c) {
    for (const Type& type : c.inputs) draw(type);
    if (checked_.upstream) draw(checked_.y.type());
  }

  void run() {
    ASSERT_EQ(checked_.y.shape(), case_.result)
        << checked_.y.shape().text() << " against " << case_.result.text();
    check_results();
    if (::testing::Test::HasFatalFailure()) return;
    if (case_.has_gradient) check_gradients();
    if (::testing::Test::HasFatalFailure()) return;
    for (const Node* node : checked_.graph.nodes()) check_node(*node);
    check_not_finite();
  }

 private:
  void draw(const Type& type) {
    Doubles values(type.at(case_.rows).shape.size());
    std::uniform_real_distribution<double> real(case_.low, case_.high);
    std::uniform_int_distribution<int64_t> integer(0, case_.integer_bound - 1);
    for (double& value : values) {
      if (is_float(type.dtype))
        value = static_cast<float>(real(random_));
      else if (type.dtype == DType::boolean)
        value = static_cast<double>(integer(random_) % 2);
      else
        value = static_cast<double>(integer(random_));
    }
    bytes_.push_back(to_bytes(values, type.dtype));
    doubles_.push_back(std::move(values));
  }

  std::vector<Doubles> arguments() const {
    return {doubles_.begin(), doubles_.begin() + case_.inputs.size()};
  }

  void check_results() {
    const Doubles expected = case_.reference(arguments());
    const Values results = checked_.results();
    std::vector<Bytes> whole;
    for (const int threads : {1, 2}) {
      for (const int64_t part_rows : {int64_t{0}, int64_t{1}, int64_t{2}}) {
        RunOptions options{.rows = case_.rows, .threads = threads, .part_rows = part_rows};
        const std::string what =
            "threads " + std::to_string(threads) + ", parts of " + std::to_string(part_rows);
        const std::vector<Bytes> plain = run_graph(checked_.graph, results, bytes_, options);
        expect_near(to_doubles(plain[0], results[0].dtype()), expected, case_.tolerance,
                    "result, " + what);
        if (::testing::Test::HasFatalFailure()) return;
        options.checked = true;
        EXPECT_EQ(run_graph(checked_.graph, results, bytes_, options), plain)
            << "checked mode, " << what;
        if (whole.empty()) whole = plain;
        for (size_t i = 1; i < results.size(); ++i) {
          expect_near(
              to_doubles(plain[i], results[i].dtype()), to_doubles(whole[i], results[i].dtype()),
              std::max(case_.tolerance, 2e-6) * 10, "gradient split against whole, " + what);
        }
        if (::testing::Test::HasFatalFailure()) return;
      }
    }
    whole_ = std::move(whole);
  }

  double loss_of(const std::vector<Doubles>& arguments) const {
    const Doubles y = case_.reference(arguments);
    double loss = 0;
    for (size_t i = 0; i < y.size(); ++i) loss += y[i] * doubles_.back()[i];
    return loss;
  }

  void check_gradients() {
    size_t result = 1;
    for (size_t k = 0; k < checked_.gradients.size(); ++k) {
      const size_t input = checked_.differentiated[k];
      std::vector<Doubles> at = arguments();
      if (std::ranges::count(case_.constants, input) > 0) continue;
      // No gradient stands for zeros, and must be that.
      const Doubles actual = checked_.gradients[k] ? to_doubles(whole_[result++], DType::float32)
                                                   : Doubles(at[input].size(), 0.0);
      const size_t stride = std::max<size_t>(1, at[input].size() / kSamples);
      Doubles sampled, expected;
      for (size_t i = 0; i < at[input].size(); i += stride) {
        constexpr double kStep = 1e-5;
        const double x = at[input][i];
        at[input][i] = x + kStep;
        const double above = loss_of(at);
        at[input][i] = x - kStep;
        const double below = loss_of(at);
        at[input][i] = x;
        sampled.push_back(actual[i]);
        expected.push_back((above - below) / (2 * kStep));
      }
      expect_near(sampled, expected, case_.gradient_tolerance,
                  "gradient of input " + std::to_string(input));
      if (::testing::Test::HasFatalFailure()) return;
    }
  }

  // One kernel alone on values of its own: the same bits twice, and over each input that it claims
  // to bear.
  void check_node(const Node& node) {
    if (node.commits()) return;
    Types types = node.input_types();
    for (Type& type : types) type = type.at(case_.rows);
    EXPECT_GT(node.op().cost(types).bytes, 0) << node.label();
    const std::shared_ptr<Kernel> kernel = node.op().kernel(types, {.threads = 1});
    kernel->compile(1);
    std::vector<Bytes> inputs;
    for (const Type& type : types) inputs.push_back(random_bytes(type));
    const std::vector<Bytes> once = run_kernel(node, *kernel, inputs, -1, -1);
    EXPECT_EQ(run_kernel(node, *kernel, inputs, -1, -1), once) << node.label() << " run twice";
    for (int output = 0; output < static_cast<int>(node.out().size()); ++output) {
      for (const int input : kernel->overwrites(output)) {
        EXPECT_EQ(run_kernel(node, *kernel, inputs, output, input)[output], once[output])
            << node.label() << ": output " << output << " written over input " << input;
      }
    }
  }

  Bytes random_bytes(const Type& type) {
    std::uniform_real_distribution<double> real(0.1, 0.9);
    std::uniform_int_distribution<int64_t> integer(0, case_.integer_bound - 1);
    Doubles values(type.shape.size());
    for (double& value : values) {
      value = is_float(type.dtype)
                  ? real(random_)
                  : static_cast<double>(integer(random_) %
                                        (type.dtype == DType::boolean ? 2 : case_.integer_bound));
    }
    return to_bytes(values, type.dtype);
  }

  std::vector<Bytes> run_kernel(const Node& node, const Kernel& kernel, std::vector<Bytes> inputs,
                                int over_output, int over_input) const {
    std::vector<Bytes> outputs;
    for (const int value : node.out())
      outputs.emplace_back(checked_.graph.type(value).at(case_.rows).bytes());
    const auto aligned = [](Bytes& block, size_t bytes) {
      block.resize(bytes + 64);
      return block.data() + (64 - reinterpret_cast<uintptr_t>(block.data()) % 64) % 64;
    };
    std::vector<Bytes> in_blocks(inputs.size()), out_blocks(outputs.size());
    std::vector<const void*> in;
    std::vector<void*> out;
    for (size_t i = 0; i < inputs.size(); ++i) {
      std::byte* at = aligned(in_blocks[i], inputs[i].size());
      std::copy(inputs[i].begin(), inputs[i].end(), at);
      in.push_back(at);
    }
    for (size_t i = 0; i < outputs.size(); ++i)
      out.push_back(aligned(out_blocks[i], outputs[i].size()));
    if (over_output >= 0) out[over_output] = const_cast<void*>(in[over_input]);
    Bytes scratch_block, prepared_block;
    void* scratch = aligned(scratch_block, kernel.scratch_bytes());
    void* prepared = aligned(prepared_block, kernel.prepared_bytes());
    const StepInfo step{.seed = 7, .epoch = 1, .position = 11};
    const Run run{.in = in.data(),
                  .out = out.data(),
                  .scratch = scratch,
                  .prepared = prepared,
                  .step = &step};
    if (kernel.prepared_bytes() > 0) kernel.prepare(run, prepared);
    kernel.run(run);
    for (size_t i = 0; i < outputs.size(); ++i)
      std::memcpy(outputs[i].data(), out[i], outputs[i].size());
    return outputs;
  }

  // The result with one element of an input replaced.
  Doubles poisoned_result(size_t input, double poison, std::vector<Doubles>& arguments) const {
    std::vector<Bytes> poisoned = bytes_;
    arguments = this->arguments();
    arguments[input][arguments[input].size() / 2] = poison;
    poisoned[input] = to_bytes(arguments[input], case_.inputs[input].dtype);
    const Bytes result = run_graph(checked_.graph, {checked_.y}, poisoned, {.rows = case_.rows})[0];
    return to_doubles(result, checked_.y.dtype());
  }

  void check_not_finite() {
    for (size_t input = 0; input < case_.inputs.size(); ++input) {
      if (!is_float(case_.inputs[input].dtype) || doubles_[input].empty()) continue;
      check_nan(input);
      if (!is_float(checked_.y.dtype())) continue;  // They have no infinities: the op says what is.
      for (const double infinity : {HUGE_VAL, -HUGE_VAL}) check_infinity(input, infinity);
    }
  }

  void check_nan(size_t input) const {
    std::vector<Doubles> arguments;
    const Doubles y = poisoned_result(input, std::nan(""), arguments);
    const bool shows = std::ranges::any_of(y, [](double v) { return !std::isfinite(v); });
    const bool must_show = !case_.may_hide_nan && is_float(checked_.y.dtype());
    if (must_show && !shows)
      ADD_FAILURE() << "a NaN in input " << input << " is nowhere in the result";
  }

  // What an infinity becomes is what the reference says, or NaN, and no other number. The reference
  // itself may have NaN (inf - inf on its way) where the result has the limit.
  void check_infinity(size_t input, double infinity) const {
    std::vector<Doubles> arguments;
    const Doubles y = poisoned_result(input, infinity, arguments);
    Doubles expected = case_.reference(arguments);
    ASSERT_EQ(y.size(), expected.size());
    for (size_t i = 0; i < y.size(); ++i) {
      if (std::isnan(y[i]) || std::isnan(expected[i])) expected[i] = y[i];
    }
    expect_near(y, expected, case_.tolerance,
                "result with " + std::to_string(infinity) + " in input " + std::to_string(input));
  }

  const OpCase& case_;
  std::mt19937_64 random_;
  CheckedGraph checked_;
  std::vector<Bytes> bytes_;  // Of each input, then of the upstream gradient.
  std::vector<Doubles> doubles_;
  std::vector<Bytes> whole_;
};

}  // namespace

Doubles to_doubles(const Bytes& bytes, DType dtype) {
  switch (dtype) {
    case DType::float32:
      return widen<float>(bytes);
    case DType::float64:
      return widen<double>(bytes);
    case DType::int32:
      return widen<int32_t>(bytes);
    case DType::int64:
      return widen<int64_t>(bytes);
    case DType::uint8:
    case DType::boolean:
      return widen<uint8_t>(bytes);
  }
  return {};
}

Bytes to_bytes(const Doubles& doubles, DType dtype) {
  switch (dtype) {
    case DType::float32:
      return narrow<float>(doubles);
    case DType::float64:
      return narrow<double>(doubles);
    case DType::int32:
      return narrow<int32_t>(doubles);
    case DType::int64:
      return narrow<int64_t>(doubles);
    case DType::uint8:
    case DType::boolean:
      return narrow<uint8_t>(doubles);
  }
  return {};
}

std::vector<Bytes> run_graph(const Graph& graph, const Values& results,
                             const std::vector<Bytes>& inputs, const RunOptions& options) {
  InstantiateOptions instantiate;
  instantiate.partition = {.parts = options.part_rows > 0, .forced_part_rows = options.part_rows};
  Program program = make_program(graph, results, options.rows, {.threads = options.threads},
                                 kUnlimited, instantiate);
  Arena arena(std::max<size_t>(program.arena_bytes(), 64));
  program.bind(arena.data(), std::vector<void*>(graph.value_count()));
  const std::vector<int> slots = graph.of_source(Graph::Source::input);
  SNUG_CHECK(inputs.size() >= slots.size(), "{} inputs for {} slots", inputs.size(), slots.size());
  for (size_t i = 0; i < slots.size(); ++i) {
    const Tensor slot = program.tensor(Value(const_cast<Graph&>(graph), slots[i]));
    SNUG_CHECK(slot.bytes() == inputs[i].size());
    std::memcpy(slot.data, inputs[i].data(), inputs[i].size());
  }
  const StepInfo step{.seed = 7, .epoch = 1, .position = 11};
  program.run(step, options.checked ? Program::Mode::checked : Program::Mode::plain);
  std::vector<Bytes> values;
  for (const Value& result : results) {
    const Tensor tensor = program.tensor(result);
    const auto* data = static_cast<const std::byte*>(tensor.data);
    values.emplace_back(data, data + tensor.bytes());
  }
  return values;
}

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  ADD_FAILURE() << "no error was thrown";
  return {};
}

void check_op(const OpCase& op_case) { OpChecker(op_case).run(); }

}  // namespace snug::testing

// The element-wise functions of two values, broadcast as NumPy does, on the loops of
// kernels/binary.h.

#include "snug/kernels/binary.h"

#include <algorithm>

#include "snug/base/error.h"
#include "snug/base/threads.h"
#include "snug/ops/binary.h"
#include "snug/ops/elementwise.h"
#include "snug/ops/sum_to.h"

namespace snug::ops {
namespace {

using kernels::Binary;
using kernels::BinaryKernels;

// The cases that need no copy of an operand: both whole, one a single number, or one a row that
// repeats.
class BinaryKernel final : public Kernel {
 public:
  enum class Form { same, scalar_left, scalar_right, periodic_left, periodic_right };

  BinaryKernel(const BinaryKernels& loops, Form form, int64_t rows, int64_t columns,
               const Target& target)
      : loops_(loops),
        form_(form),
        rows_(rows),
        columns_(columns),
        threads_(elementwise_threads(rows * columns, target)) {}

  std::vector<int> overwrites(int) const override {
    switch (form_) {
      case Form::same:
        return {0, 1};
      case Form::scalar_left:
      case Form::periodic_left:
        return {1};
      default:
        return {0};
    }
  }

  void run(const Run& run) const noexcept override {
    const bool flat =
        form_ == Form::same || form_ == Form::scalar_left || form_ == Form::scalar_right;
    const int64_t grain = flat ? 1024 : std::max<int64_t>(1, 1024 / columns_);
    parallel_ranges(flat ? rows_ * columns_ : rows_, threads_, grain,
                    [&](int64_t begin, int64_t end) { run_range(run, begin, end); });
  }

 private:
  void run_range(const Run& run, int64_t begin, int64_t end) const noexcept {
    const float *a = run.input(0), *b = run.input(1);
    float* y = run.output();
    const int64_t count = end - begin, first = begin * columns_;
    switch (form_) {
      case Form::same:
        return loops_.same(a + begin, b + begin, y + begin, count);
      case Form::scalar_left:
        return loops_.scalar_left(a, b + begin, y + begin, count);
      case Form::scalar_right:
        return loops_.scalar_right(a + begin, b, y + begin, count);
      case Form::periodic_left:
        return loops_.periodic_left(a, b + first, y + first, count, columns_);
      case Form::periodic_right:
        return loops_.periodic_right(a + first, b, y + first, count, columns_);
    }
  }

  const BinaryKernels& loops_;
  Form form_;
  int64_t rows_, columns_;
  int threads_;
};

// Whether `operand` is the innermost axes of `whole`, so that it repeats.
bool repeats_in(const Shape& operand, const Shape& whole) {
  int first = 0;
  while (first < operand.rank() && operand[first] == 1) ++first;
  const int rank = operand.rank() - first;
  return rank <= whole.rank() &&
         operand.part(first, operand.rank()) == whole.part(whole.rank() - rank, whole.rank());
}

class BinaryOp final : public Op, private ElementwiseBlock {
 public:
  BinaryOp(std::string_view name, Binary function)
      : name_(name), function_(function), loops_(kernels::binary_kernels(function)) {}

  Binary function() const { return function_; }
  std::string_view name() const override { return name_; }

  Types infer(const Types& in) const override {
    for (const Type& type : in) {
      if (type.dtype != DType::float32) {
        throw ShapeError("{}: expected float32 values, got {} and {}; cast them first", name_,
                         in[0].text(), in[1].text());
      }
    }
    return {{DType::float32, broadcast(in[0].shape, in[1].shape, name_)}};
  }

  Values gradient(const Node& node, const Values& dy) const override {
    const auto [da, db] = partial(node.input(0), node.input(1), node.output(), dy[0]);
    return {da ? sum_to(da, node.input(0).shape()) : da,
            db ? sum_to(db, node.input(1).shape()) : db};
  }

  Rows rows(const Types&) const override { return Rows::each; }

  Cost cost(const Types& in) const override {
    return elementwise_cost(in, broadcast(in[0].shape, in[1].shape, name_), 1);
  }

  std::unique_ptr<Kernel> kernel(const Types& in, const Target& target) const override {
    using Form = BinaryKernel::Form;
    const Shape &a = in[0].shape, &b = in[1].shape, y = broadcast(a, b, name_);
    const auto make = [&](Form form, int64_t columns) {
      return std::make_unique<BinaryKernel>(loops_, form, columns == 0 ? 0 : y.size() / columns,
                                            columns, target);
    };
    if (a.size() == y.size() && b.size() == y.size()) return make(Form::same, y.size());
    if (b.size() == 1) return make(Form::scalar_right, y.size());
    if (a.size() == 1) return make(Form::scalar_left, y.size());
    if (a.size() == y.size() && repeats_in(b, y)) return make(Form::periodic_right, b.size());
    if (b.size() == y.size() && repeats_in(a, y)) return make(Form::periodic_left, a.size());
    return elementwise_kernel(*this, in, y, target);
  }

  const ElementwiseBlock* elementwise() const override { return this; }

 private:
  void run_block(const float* const* in, float* out, int64_t count,
                 const BlockPlace&) const noexcept override {
    loops_.same(in[0], in[1], out, count);
  }

  struct Partial {
    Value da, db;
  };

  // The gradients before they are added up over broadcast axes.
  Partial partial(Value a, Value b, Value y, Value dy) const {
    switch (function_) {
      case Binary::add:
        return {dy, dy};
      case Binary::subtract:
        return {dy, negate(dy)};
      case Binary::multiply:
        return {multiply(dy, b), multiply(dy, a)};
      case Binary::divide:
        return {divide(dy, b), negate(divide(multiply(dy, y), b))};
      case Binary::divide_no_nan:
        return {divide_no_nan(dy, b), negate(divide_no_nan(multiply(dy, y), b))};
      case Binary::maximum:
        return pass(greater_equal(a, b), dy);
      case Binary::minimum:
        return pass(less_equal(a, b), dy);
      case Binary::squared_difference: {
        const Value da = multiply_scalar(multiply(dy, subtract(a, b)), 2);
        return {da, negate(da)};
      }
      case Binary::pow: {
        const Value da = multiply(multiply(dy, b), power(a, add_scalar(b, -1)));
        // d/db a^b = a^b log a, taken as 0 where a is not positive, as TensorFlow does.
        const Value zero = constant(a.graph(), {}, 0);
        const Value positive = greater(a, zero);
        const Value safe_log =
            where(positive, log(where(positive, a, constant(a.graph(), {}, 1))), zero);
        return {da, multiply(multiply(dy, y), safe_log)};
      }
    }
    return {};
  }

  // The gradient flows to the operand that was chosen; of equals, to the first.
  Partial pass(Value first_chosen, Value dy) const {
    const Value zero = constant(dy.graph(), {}, 0);
    return {where(first_chosen, dy, zero), where(first_chosen, zero, dy)};
  }

  std::string_view name_;
  Binary function_;
  const BinaryKernels& loops_;
};

Value binary(Value a, Value b, std::string_view name, Binary function) {
  if (!a || !b) throw Error("{}: the {} value is empty", name, a ? "second" : "first");
  return a.graph().add<BinaryOp>({a, b}, name, function);
}

}  // namespace

bool is_add(const Op& op) {
  const auto* binary = dynamic_cast<const BinaryOp*>(&op);
  return binary != nullptr && binary->function() == Binary::add;
}

Value add(Value a, Value b) { return binary(a, b, "add", Binary::add); }
Value subtract(Value a, Value b) { return binary(a, b, "subtract", Binary::subtract); }
Value multiply(Value a, Value b) { return binary(a, b, "multiply", Binary::multiply); }
Value divide(Value a, Value b) { return binary(a, b, "divide", Binary::divide); }
Value divide_no_nan(Value a, Value b) {
  return binary(a, b, "divide_no_nan", Binary::divide_no_nan);
}
Value power(Value a, Value b) { return binary(a, b, "power", Binary::pow); }
Value maximum(Value a, Value b) { return binary(a, b, "maximum", Binary::maximum); }
Value minimum(Value a, Value b) { return binary(a, b, "minimum", Binary::minimum); }
Value squared_difference(Value a, Value b) {
  return binary(a, b, "squared_difference", Binary::squared_difference);
}

Value add_scalar(Value x, float scalar) { return add(x, constant(x.graph(), {}, scalar)); }
Value multiply_scalar(Value x, float scalar) {
  return multiply(x, constant(x.graph(), {}, scalar));
}

}  // namespace snug::ops

// Copies between element types. To bool: whether it is not 0. To an integer: cut towards 0 and held
// within the type's range, so that a large number never turns into a small one; NaN becomes the
// least.

#include <cmath>
#include <limits>
#include <utility>

#include "snug/base/error.h"
#include "snug/base/threads.h"
#include "snug/kernels/convert.h"
#include "snug/ops/move.h"
#include "snug/ops/ops.h"

namespace snug::ops {
namespace {

template <typename To, typename From>
To held(From x) {
  if constexpr (std::is_floating_point_v<To>) {
    return static_cast<To>(x);
  } else {
    using Range = std::numeric_limits<To>;
    if constexpr (std::is_floating_point_v<From>) {
      if (!(x > static_cast<From>(Range::min()))) return Range::min();
      return x >= static_cast<From>(Range::max()) ? Range::max() : static_cast<To>(x);
    } else {
      return std::in_range<To>(x)  ? static_cast<To>(x)
             : std::cmp_less(x, 0) ? Range::min()
                                   : Range::max();
    }
  }
}

// A bool, read or written as a byte.
struct Truth {
  uint8_t byte;
};

template <typename From, typename To>
void convert(const From* from, To* to, int64_t n) noexcept {
  if constexpr (std::is_same_v<From, Truth> && std::is_same_v<To, Truth>) {
    for (int64_t i = 0; i < n; ++i) to[i] = from[i];
  } else if constexpr (std::is_same_v<From, Truth>) {
    for (int64_t i = 0; i < n; ++i) to[i] = static_cast<To>(from[i].byte != 0);
  } else if constexpr (std::is_same_v<To, Truth>) {
    for (int64_t i = 0; i < n; ++i) to[i].byte = from[i] != 0;
  } else if constexpr (requires { kernels::convert(from, to, n); }) {
    kernels::convert(from, to, n);
  } else {
    for (int64_t i = 0; i < n; ++i) to[i] = held<To>(from[i]);
  }
}

template <typename From, typename To>
class CastKernel final : public Kernel {
 public:
  CastKernel(int64_t size, const Target& target) : size_(size) {
    const auto bytes = size * static_cast<int64_t>(sizeof(From) + sizeof(To));
    threads_ = bytes < kWorthThreadsBytes ? 1 : target.threads;
  }

  void run(const Run& run) const noexcept override {
    parallel_ranges(size_, threads_, 64, [&](int64_t begin, int64_t end) {
      convert(run.input<From>(0) + begin, run.output<To>() + begin, end - begin);
    });
  }

 private:
  int64_t size_;
  int threads_;
};

// Calls body with an element of the C++ type behind a dtype.
template <typename Body>
auto with_type(DType dtype, const Body& body) {
  switch (dtype) {
    case DType::float32:
      return body(float());
    case DType::float64:
      return body(double());
    case DType::int32:
      return body(int32_t());
    case DType::int64:
      return body(int64_t());
    case DType::uint8:
      return body(uint8_t());
    case DType::boolean:
      return body(Truth());
  }
  throw InternalError("cast: no such type");
}

class Cast final : public Op {
 public:
  explicit Cast(DType dtype) : dtype_(dtype) {}

  std::string_view name() const override { return "cast"; }
  std::string attributes() const override { return fmt::format("dtype={}", name_of(dtype_)); }
  Types infer(const Types& in) const override { return {{dtype_, in[0].shape}}; }

  Values gradient(const Node& node, const Values& dy) const override {
    const DType from = node.input(0).dtype();
    return {is_float(from) && is_float(dtype_) ? cast(dy[0], from) : Value()};
  }

  Rows rows(const Types&) const override { return Rows::each; }

  Cost cost(const Types& in) const override {
    const Type y{dtype_, in[0].shape};
    return {.flops = static_cast<double>(y.shape.size()),
            .bytes = static_cast<double>(in[0].bytes() + y.bytes())};
  }

  std::unique_ptr<Kernel> kernel(const Types& in, const Target& target) const override {
    const int64_t size = in[0].shape.size();
    return with_type(in[0].dtype, [&](auto from) {
      return with_type(dtype_, [&](auto to) -> std::unique_ptr<Kernel> {
        return std::make_unique<CastKernel<decltype(from), decltype(to)>>(size, target);
      });
    });
  }

 private:
  DType dtype_;
};

}  // namespace

Value cast(Value x, DType dtype) {
  return x.dtype() == dtype ? x : x.graph().add<Cast>({x}, dtype);
}

}  // namespace snug::ops

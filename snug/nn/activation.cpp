#include "snug/nn/activation.h"

#include <algorithm>
#include <array>

#include "snug/base/error.h"
#include "snug/base/nearest_word.h"
#include "snug/ops/ops.h"

namespace snug {
namespace {

struct Entry {
  std::string_view name;
  Value (*apply)(Value x);
};

// Half of the channels, let through by the other half.
Value glu(Value x) {
  const Shape& shape = x.shape();
  if (shape.rank() < 1 || shape[-1] % 2 != 0) {
    throw ShapeError("glu: {} cannot be halved along its last axis; give it an even number",
                     shape.text());
  }
  const int64_t half = shape[-1] / 2;
  ops::SliceOptions options{.begin = std::vector<int64_t>(shape.rank(), 0),
                            .size = std::vector<int64_t>(shape.rank(), -1),
                            .step = {}};
  options.size.back() = half;
  const Value passed = ops::slice(x, options);
  options.begin.back() = half;
  return ops::multiply(passed, ops::sigmoid(ops::slice(x, options)));
}

constexpr std::array kEntries = std::to_array<Entry>({
    {"linear", [](Value x) { return x; }},
    {"relu", [](Value x) { return ops::relu(x); }},
    {"relu6", ops::relu6},
    {"leaky_relu", [](Value x) { return ops::leaky_relu(x); }},
    {"elu", [](Value x) { return ops::elu(x); }},
    {"selu", ops::selu},
    {"gelu", [](Value x) { return ops::gelu(x); }},
    {"silu", ops::silu},
    {"swish", ops::silu},
    {"sigmoid", ops::sigmoid},
    {"hard_sigmoid", ops::hard_sigmoid},
    {"hard_silu", ops::hard_silu},
    {"hard_swish", ops::hard_silu},
    {"tanh", ops::tanh},
    {"softmax", [](Value x) { return ops::softmax(x); }},
    {"log_softmax", [](Value x) { return ops::log_softmax(x); }},
    {"softplus", ops::softplus},
    {"softsign", ops::softsign},
    {"exponential", ops::exp},
    {"mish", ops::mish},
    {"log_sigmoid", ops::log_sigmoid},
    {"celu", [](Value x) { return ops::celu(x); }},
    {"glu", glu},
    {"hard_tanh", ops::hard_tanh},
    {"tanh_shrink", ops::tanh_shrink},
    {"soft_shrink", [](Value x) { return ops::soft_shrink(x); }},
    {"hard_shrink", [](Value x) { return ops::hard_shrink(x); }},
    {"squareplus", [](Value x) { return ops::squareplus(x); }},
});

constexpr auto kNames = [] {
  std::array<std::string_view, kEntries.size()> names;
  for (size_t i = 0; i < names.size(); ++i) names[i] = kEntries[i].name;
  return names;
}();

const Entry& find(std::string_view name) {
  const auto* found = std::ranges::find(kEntries, name, &Entry::name);
  if (found == kEntries.end()) {
    throw Error("there is no activation \"{}\"; {}", name, did_you_mean(name, kNames));
  }
  return *found;
}

}  // namespace

Value apply_activation(Tracer& tracer, std::string_view name, Value x) {
  const Value y = find(name).apply(x);
  if (name == "softmax") tracer.set_logits(y, {.from = Logits::From::softmax, .value = x});
  if (name == "sigmoid") tracer.set_logits(y, {.from = Logits::From::sigmoid, .value = x});
  return y;
}

void check_activation(std::string_view name) { find(name); }

std::span<const std::string_view> activation_names() { return kNames; }

}  // namespace snug

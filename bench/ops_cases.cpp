#include "bench/ops_cases.h"

#include <fmt/format.h>

#include "snug/ops/image_ops.h"
#include "snug/ops/ops.h"

namespace snug::bench {
namespace {

constexpr DType kFloat = DType::float32;

using Cases = std::vector<OpCase>;
using Unary = Value (*)(Value);
using Binary = Value (*)(Value, Value);

const Type kWide{kFloat, {kRows, 128 * 1024}};
const Type kRows256{kFloat, {kRows, 512, 256}};
const Type kImage{kFloat, {kRows, 56, 56, 42}};

void add_binary(Cases& all) {
  const std::pair<const char*, Binary> ops[] = {{"add", ops::add},
                                                {"subtract", ops::subtract},
                                                {"multiply", ops::multiply},
                                                {"divide", ops::divide},
                                                {"divide_no_nan", ops::divide_no_nan},
                                                {"power", ops::power},
                                                {"maximum", ops::maximum},
                                                {"minimum", ops::minimum},
                                                {"squared_difference", ops::squared_difference},
                                                {"less", ops::less},
                                                {"equal", ops::equal}};
  for (const auto& [name, op] : ops) {
    all.push_back({name,
                   {kWide, kWide},
                   [op = op](const Values& in) { return op(in[0], in[1]); },
                   name == std::string("add") || name == std::string("multiply")});
    // Powers of negative numbers are NaN, and nobody takes them.
    if (name == std::string("power")) all.back().lowest = 0.1f;
  }
  all.push_back({"add of a bias", {kImage, {kFloat, {42}}}, [](const Values& in) {
                   return ops::add(in[0], in[1]);
                 }});
  all.push_back({"where", {{DType::boolean, kWide.shape}, kWide, kWide}, [](const Values& in) {
                   return ops::where(in[0], in[1], in[2]);
                 }});
  all.push_back({"logical_and",
                 {{DType::boolean, kWide.shape}, {DType::boolean, kWide.shape}},
                 [](const Values& in) { return ops::logical_and(in[0], in[1]); },
                 false});
}

void add_unary(Cases& all) {
  const std::pair<const char*, Unary> ops[] = {{"abs", ops::abs},
                                               {"square", ops::square},
                                               {"sqrt", ops::sqrt},
                                               {"rsqrt", ops::rsqrt},
                                               {"reciprocal", ops::reciprocal},
                                               {"exp", ops::exp},
                                               {"expm1", ops::expm1},
                                               {"log", ops::log},
                                               {"log1p", ops::log1p},
                                               {"sign", ops::sign},
                                               {"floor", ops::floor},
                                               {"sin", ops::sin},
                                               {"cos", ops::cos},
                                               {"erf", ops::erf},
                                               {"relu6", ops::relu6},
                                               {"selu", ops::selu},
                                               {"silu", ops::silu},
                                               {"sigmoid", ops::sigmoid},
                                               {"hard_sigmoid", ops::hard_sigmoid},
                                               {"hard_silu", ops::hard_silu},
                                               {"tanh", ops::tanh},
                                               {"softplus", ops::softplus},
                                               {"softsign", ops::softsign},
                                               {"mish", ops::mish},
                                               {"log_sigmoid", ops::log_sigmoid},
                                               {"hard_tanh", ops::hard_tanh},
                                               {"tanh_shrink", ops::tanh_shrink}};
  for (const auto& [name, op] : ops)
    all.push_back({name, {kWide}, [op = op](const Values& in) { return op(in[0]); }});
  const auto add = [&](const char* name, std::function<Value(Value)> op) {
    all.push_back({name, {kWide}, [op](const Values& in) { return op(in[0]); }});
  };
  add("relu", [](Value x) { return ops::relu(x); });
  add("leaky_relu", [](Value x) { return ops::leaky_relu(x); });
  add("elu", [](Value x) { return ops::elu(x); });
  add("celu", [](Value x) { return ops::celu(x); });
  add("gelu", [](Value x) { return ops::gelu(x); });
  add("gelu of tanh", [](Value x) { return ops::gelu(x, true); });
  add("soft_shrink", [](Value x) { return ops::soft_shrink(x); });
  add("hard_shrink", [](Value x) { return ops::hard_shrink(x); });
  add("squareplus", [](Value x) { return ops::squareplus(x); });
  add("clip", [](Value x) { return ops::clip(x, -0.2f, 0.3f); });
  add("multiply_scalar", [](Value x) { return ops::multiply_scalar(x, 2); });
  add("dropout", [](Value x) { return ops::dropout(x, {.rate = 0.5f, .stream = 1}); });
}

void add_reductions(Cases& all) {
  const auto add = [&](const char* name, std::function<Value(Value)> op, bool gradient = true) {
    all.push_back({name, {kRows256}, [op](const Values& in) { return op(in[0]); }, gradient});
  };
  add("sum over rows", [](Value x) { return ops::sum(x, {.axes = {0}}); });
  add("sum of a row", [](Value x) { return ops::sum(x, {.axes = {1, 2}}); });
  add("mean of the last axis", [](Value x) { return ops::mean(x, {.axes = {-1}}); });
  add("max of the last axis", [](Value x) { return ops::max(x, {.axes = {-1}}); });
  add("product of the last axis", [](Value x) { return ops::product(x, {.axes = {-1}}); });
  add(
      "argmax", [](Value x) { return ops::argmax(x); }, false);
  add(
      "top_k of 5", [](Value x) { return ops::top_k(x, 5).values; }, false);
  add("softmax", [](Value x) { return ops::softmax(x); });
  add("log_softmax", [](Value x) { return ops::log_softmax(x); });
  add(
      "random_normal_like", [](Value x) { return ops::random_normal_like(x, 0, 1, 3); }, false);
  add(
      "random_uniform_like", [](Value x) { return ops::random_uniform_like(x, 0, 1, 3); }, false);
}

void add_losses(Cases& all) {
  const Type labels{DType::int32, {kRows, 512}};
  const std::pair<const char*, Binary> sparse[] = {
      {"sparse_softmax_cross_entropy", ops::sparse_softmax_cross_entropy},
      {"sparse_cross_entropy", ops::sparse_cross_entropy}};
  for (const auto& [name, op] : sparse) {
    all.push_back(
        {name, {kRows256, labels}, [op = op](const Values& in) { return op(in[0], in[1]); }});
  }
  const std::pair<const char*, Binary> dense[] = {
      {"softmax_cross_entropy", ops::softmax_cross_entropy},
      {"cross_entropy", ops::cross_entropy},
      {"sigmoid_cross_entropy", ops::sigmoid_cross_entropy},
      {"binary_cross_entropy", ops::binary_cross_entropy}};
  for (const auto& [name, op] : dense) {
    all.push_back(
        {name, {kRows256, kRows256}, [op = op](const Values& in) { return op(in[0], in[1]); }});
  }
}

void add_norms(Cases& all) {
  const Type gain{kFloat, {256}}, channels{kFloat, {64}}, image{kFloat, {kRows, 56, 56, 64}};
  all.push_back({"layer_norm", {kRows256, gain, gain}, [](const Values& in) {
                   return ops::layer_norm(in[0], {.gamma = in[1], .beta = in[2]});
                 }});
  all.push_back(
      {"rms_norm", {kRows256, gain}, [](const Values& in) { return ops::rms_norm(in[0], in[1]); }});
  all.push_back({"group_norm", {image, channels, channels}, [](const Values& in) {
                   return ops::group_norm(in[0], {.gamma = in[1], .beta = in[2]});
                 }});
  all.push_back({"batch_norm", {image, channels, channels}, [channels](const Values& in) {
                   Graph& graph = in[0].graph();
                   return ops::batch_norm_training(in[0], graph.variable("mean", channels),
                                                   graph.variable("variance", channels),
                                                   {.gamma = in[1], .beta = in[2]});
                 }});
}

void add_shapes(Cases& all) {
  const auto add = [&](const char* name, const Type& type, std::function<Value(Value)> op,
                       bool gradient = true) {
    all.push_back({name, {type}, [op](const Values& in) { return op(in[0]); }, gradient});
  };
  add("max_pool2d", kImage, [](Value x) { return ops::max_pool2d(x, {}); });
  add("average_pool2d", kImage, [](Value x) { return ops::average_pool2d(x, {}); });
  add("upsample2d", {kFloat, {kRows, 28, 28, 42}}, [](Value x) {
    return ops::upsample2d(x, {2, 2}, false);
  });
  add("resize2d bilinear", kImage, [](Value x) { return ops::resize2d(x, {40, 40}, true); });
  add(
      "random_warp", kImage, [](Value x) { return ops::random_warp(x, {.horizontal = true}); },
      false);
  add(
      "transpose of the last axes", kRows256,
      [](Value x) {
        return ops::transpose(x, {0, 2, 1});
      },
      false);
  add(
      "transpose of blocks", {kFloat, {kRows, 32, 16, 256}},
      [](Value x) {
        return ops::transpose(x, {0, 2, 1, 3});
      },
      false);
  add("slice of the last axis", kRows256, [](Value x) {
    return ops::slice(x, {.begin = {0, 0, 64}, .size = {-1, -1, 128}, .step = {}});
  });
  add("pad", kImage, [](Value x) { return ops::pad(x, {{0, 0}, {1, 1}, {1, 1}, {0, 0}}); });
  add(
      "cast to int32", kWide, [](Value x) { return ops::cast(x, DType::int32); }, false);
  add("broadcast_to", {kFloat, {kRows, 1, 256}}, [](Value x) {
    return ops::broadcast_to(x, {kRows, 512, 256});
  });
  all.push_back(
      {"concat", {kRows256, kRows256}, [](const Values& in) { return ops::concat(in, -1); }});
  all.push_back({"embedding",
                 {{kFloat, {10'000, 128}}, {DType::int32, {kRows, 200}}},
                 [](const Values& in) { return ops::embedding(in[0], in[1]); },
                 false});
  all.push_back({"one_hot",
                 {{DType::int32, {kRows, 512}}},
                 [](const Values& in) { return ops::one_hot(in[0], 256); },
                 false});
}

OpCase product(int64_t depth, int64_t columns) {
  return {"matmul 64x" + std::to_string(columns) + "x" + std::to_string(depth),
          {{kFloat, {kRows, depth}}, {kFloat, {depth, columns}}},
          [](const Values& in) { return ops::matmul(in[0], in[1]); }};
}

OpCase convolution(int64_t size, int64_t channels, int64_t filters, int64_t kernel, int64_t stride,
                   bool depthwise = false) {
  const int64_t before = (kernel - 1) / 2, after = kernel / 2;
  const ops::Conv2DOptions options{.strides = {stride, stride},
                                   .padding = {before, before, after, after}};
  OpCase c;
  c.name = fmt::format("{} {}x{} of {}x{}x{} to {}, strides {}",
                       depthwise ? "depthwise_conv2d" : "conv2d", kernel, kernel, size, size,
                       channels, filters, stride);
  const Shape weights =
      depthwise ? Shape{kernel, kernel, channels, 1} : Shape{kernel, kernel, channels, filters};
  c.inputs = {{kFloat, {kRows, size, size, channels}}, {kFloat, weights}};
  c.build = [=](const Values& in) {
    return depthwise ? ops::depthwise_conv2d(in[0], in[1], options)
                     : ops::conv2d(in[0], in[1], options);
  };
  c.convolution = OnednnConvolutionShape{.batch = kRowsHeld,
                                         .height = size,
                                         .width = size,
                                         .channels = channels,
                                         .filters = filters,
                                         .kernel_height = kernel,
                                         .kernel_width = kernel,
                                         .stride_height = stride,
                                         .stride_width = stride,
                                         .top = before,
                                         .left = before,
                                         .bottom = after,
                                         .right = after,
                                         .groups = depthwise ? channels : 1};
  return c;
}

}  // namespace

Cases streaming_cases() {
  Cases all;
  add_binary(all);
  add_unary(all);
  add_reductions(all);
  add_losses(all);
  add_norms(all);
  add_shapes(all);
  return all;
}

Cases arithmetic_cases() {
  return {product(200, 512),
          product(784, 128),
          product(1024, 1024),
          convolution(28, 1, 32, 3, 1),
          convolution(28, 32, 64, 3, 1),
          convolution(28, 32, 128, 1, 1),
          convolution(28, 64, 128, 3, 2),
          convolution(14, 256, 256, 3, 1),
          convolution(28, 128, 128, 3, 1, /*depthwise=*/true)};
}

}  // namespace snug::bench

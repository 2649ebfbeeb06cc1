// keras.ops on symbols, by the words that the same ops have on values: ops::exp(x), x being what a
// layer gave. Nothing here is a layer of the model.
#pragma once

#include <optional>
#include <vector>

#include "snug/nn/get_item.h"
#include "snug/nn/layer.h"
#include "snug/ops/ops.h"

namespace snug::ops {

Symbol abs(const Symbol& x);
Symbol square(const Symbol& x);
Symbol sqrt(const Symbol& x);
Symbol rsqrt(const Symbol& x);
Symbol reciprocal(const Symbol& x);
Symbol exp(const Symbol& x);
Symbol expm1(const Symbol& x);
Symbol log(const Symbol& x);
Symbol log1p(const Symbol& x);
Symbol sign(const Symbol& x);
Symbol floor(const Symbol& x);
Symbol sin(const Symbol& x);
Symbol cos(const Symbol& x);
Symbol erf(const Symbol& x);
Symbol clip(const Symbol& x, float low, float high);

Symbol tanh(const Symbol& x);
Symbol sigmoid(const Symbol& x);
Symbol relu(const Symbol& x);
Symbol relu6(const Symbol& x);
Symbol leaky_relu(const Symbol& x, float negative_slope = 0.2f);
Symbol elu(const Symbol& x, float alpha = 1);
Symbol selu(const Symbol& x);
Symbol gelu(const Symbol& x, bool approximate = false);
Symbol silu(const Symbol& x);
Symbol softplus(const Symbol& x);
Symbol softsign(const Symbol& x);
Symbol softmax(const Symbol& x, int axis = -1);
Symbol log_softmax(const Symbol& x, int axis = -1);

Symbol power(const Symbol& a, const Symbol& b);
Symbol power(const Symbol& a, double b);
Symbol power(double a, const Symbol& b);
Symbol maximum(const Symbol& a, const Symbol& b);
Symbol maximum(const Symbol& a, double b);
Symbol minimum(const Symbol& a, const Symbol& b);
Symbol minimum(const Symbol& a, double b);
Symbol matmul(const Symbol& a, const Symbol& b);

// Over axes within a row; an empty list would be all, which are none of a symbol's to reduce.
Symbol sum(const Symbol& x, const ReduceOptions& options);
Symbol mean(const Symbol& x, const ReduceOptions& options);
Symbol max(const Symbol& x, const ReduceOptions& options);
Symbol min(const Symbol& x, const ReduceOptions& options);
Symbol product(const Symbol& x, const ReduceOptions& options);

Symbol get_item(const Symbol& x, const std::vector<Index>& key);
Symbol reshape(const Symbol& x, const Shape& shape);  // Rows first; one extent may be -1.
Symbol transpose(const Symbol& x, const std::vector<int>& axes);
Symbol expand_dims(const Symbol& x, int axis);
Symbol squeeze(const Symbol& x, std::optional<int> axis = std::nullopt);
Symbol concat(const Symbols& values, int axis);
Symbol stop_gradient(const Symbol& x);

// On values, a number in the place of one.
Value power(Value a, double b);
Value maximum(Value a, double b);
Value minimum(Value a, double b);

}  // namespace snug::ops

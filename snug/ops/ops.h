// The catalogue: every op as a function that adds nodes. Shapes are checked here and now; a mistake
// throws ShapeError with the op and both shapes. Values are float32 unless a line says otherwise.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "snug/graph/graph.h"

namespace snug::ops {

// --- Matrix products and convolutions ---

struct MatmulOptions {
  bool transpose_a = false;
  bool transpose_b = false;
  Value bias;  // [n], added to every row; may be empty.
};
// a [..., m, k] times b [..., k, n]; the leading axes are the same. With b of two axes, all leading
// axes of a are rows of one product. Of a [k, m] read transposed with rows as k (a weight gradient)
// the result is a sum over rows.
Value matmul(Value a, Value b, const MatmulOptions& options = {});

struct Padding2D {
  int64_t top = 0, left = 0, bottom = 0, right = 0;
  friend bool operator==(const Padding2D&, const Padding2D&) = default;
};
struct Conv2DOptions {
  std::array<int64_t, 2> strides = {1, 1};
  std::array<int64_t, 2> dilation = {1, 1};
  Padding2D padding;
  int64_t groups = 1;
  Value bias;  // [out]
};
// x [rows, h, w, in], kernel [kh, kw, in / groups, out] -> [rows, oh, ow, out].
Value conv2d(Value x, Value kernel, const Conv2DOptions& options = {});
// kernel [kh, kw, in, multiplier] -> [rows, oh, ow, in * multiplier].
Value depthwise_conv2d(Value x, Value kernel, const Conv2DOptions& options = {});
// x [rows, h, w, in], kernel [kh, kw, out, in] -> [rows, oh, ow, out]: the input gradient of the
// convolution that would take an output-sized image to x. `size` is {oh, ow}; `padding` is that
// convolution's.
Value conv2d_transpose(Value x, Value kernel, std::array<int64_t, 2> size,
                       const Conv2DOptions& options = {});
// Keras's "valid", "same" (extra at the bottom and right) or "causal" for one axis: {before,
// after}.
std::array<int64_t, 2> keras_padding(std::string_view name, int64_t size, int64_t kernel,
                                     int64_t stride, int64_t dilation);
// Along one axis of Keras's Conv2DTranspose ("valid" or "same"): the size of the result, and the
// {before, after} that conv2d_transpose wants as padding for it. output_padding is Keras's; absent,
// "same" gives size * stride and "valid" (size - 1) * stride + max(kernel, stride).
struct TransposedAxis {
  int64_t size = 0;
  std::array<int64_t, 2> padding = {0, 0};
};
TransposedAxis keras_transposed_axis(std::string_view name, int64_t size, int64_t kernel,
                                     int64_t stride, int64_t dilation,
                                     std::optional<int64_t> output_padding = std::nullopt);

struct Pool2DOptions {
  std::array<int64_t, 2> size = {2, 2};
  std::array<int64_t, 2> strides = {2, 2};
  Padding2D padding;
  // Nobody else reads x or asks for its gradient: then a max pool goes before a relu that made x.
  bool alone = false;
};
Value max_pool2d(Value x, const Pool2DOptions& options);      // Padding counts as -inf; NaN wins.
Value average_pool2d(Value x, const Pool2DOptions& options);  // Over the elements inside the image.

// --- Element by element ---

Value add(Value a, Value b);  // Binary ops broadcast as NumPy does.
Value subtract(Value a, Value b);
Value multiply(Value a, Value b);
Value divide(Value a, Value b);
Value divide_no_nan(Value a, Value b);  // x / 0 = 0.
Value power(Value a, Value b);
Value maximum(Value a, Value b);  // NaN if either is.
Value minimum(Value a, Value b);
Value squared_difference(Value a, Value b);
Value equal(Value a, Value b);  // Comparisons give bool; of float32 or of int32 values.
Value not_equal(Value a, Value b);
Value less(Value a, Value b);
Value less_equal(Value a, Value b);
Value greater(Value a, Value b);
Value greater_equal(Value a, Value b);
Value logical_and(Value a, Value b);
Value logical_or(Value a, Value b);
Value logical_not(Value a);
Value where(Value condition, Value a, Value b);  // condition bool; all broadcast.
Value add_scalar(Value x, float scalar);
Value multiply_scalar(Value x, float scalar);

Value negate(Value x);
Value abs(Value x);
Value square(Value x);
Value sqrt(Value x);
Value rsqrt(Value x);
Value reciprocal(Value x);
Value exp(Value x);
Value expm1(Value x);
Value log(Value x);
Value log1p(Value x);
Value sign(Value x);
Value floor(Value x);
Value sin(Value x);
Value cos(Value x);
Value erf(Value x);
Value clip(Value x, float low, float high);

struct ReluOptions {
  float negative_slope = 0;
  float max_value = std::numeric_limits<float>::infinity();
  float threshold = 0;
};
Value relu(Value x, const ReluOptions& options = {});
Value leaky_relu(Value x, float negative_slope = 0.2f);
Value relu6(Value x);
Value elu(Value x, float alpha = 1);
Value selu(Value x);
Value gelu(Value x, bool approximate = false);
Value silu(Value x);
Value sigmoid(Value x);
Value hard_sigmoid(Value x);
Value hard_silu(Value x);
Value tanh(Value x);
Value softplus(Value x);
Value softsign(Value x);
Value mish(Value x);
Value log_sigmoid(Value x);
Value celu(Value x, float alpha = 1);
Value hard_tanh(Value x);
Value tanh_shrink(Value x);
Value soft_shrink(Value x, float threshold = 0.5f);
Value hard_shrink(Value x, float threshold = 0.5f);
Value squareplus(Value x, float b = 4);

// Zero with probability `rate`, the rest scaled by 1 / (1 - rate). The mask depends on seed, epoch,
// row position, `stream` (the layer's) and element; axes of noise_shape that are 1 share one draw.
// No mask is kept.
struct DropoutOptions {
  float rate = 0.5f;
  uint64_t stream = 0;
  std::optional<Shape> noise_shape;
};
Value dropout(Value x, const DropoutOptions& options);
// Draws shaped like `like`, from the same sources.
Value random_normal_like(Value like, float mean, float deviation, uint64_t stream);
Value random_uniform_like(Value like, float low, float high, uint64_t stream);

// --- Reductions; axes may be negative, an empty list means all ---

struct ReduceOptions {
  std::vector<int> axes;
  bool keepdims = false;
};
Value sum(Value x, const ReduceOptions& options = {});
Value mean(Value x, const ReduceOptions& options =
                        {});  // Not over rows: their number is the caller's to divide by.
Value max(Value x, const ReduceOptions& options = {});
Value min(Value x, const ReduceOptions& options = {});
Value product(Value x, const ReduceOptions& options = {});
Value argmax(Value x, int axis = -1);  // int32; the first of equals.
Value top_k_contains(Value scores, Value labels,
                     int k);  // [rows, classes], int32 [rows] -> bool [rows]; ties count.
struct TopK {
  Value values, indices;
};
TopK top_k(Value x, int k);  // Along the last axis, largest first; indices int32.

// --- Softmax and the losses that ride on it ---

Value softmax(Value x, int axis = -1);
Value log_softmax(Value x, int axis = -1);
// Per-row losses, from logits. labels int32 [...] for logits [..., classes]; the sparse form gives
// NaN for a label outside the classes (rows are checked when they are staged).
Value sparse_softmax_cross_entropy(Value logits, Value labels);
Value softmax_cross_entropy(Value logits, Value targets);
Value sigmoid_cross_entropy(Value logits, Value targets);  // Element by element.
// The same from probabilities, with Keras's clipping to [1e-7, 1 - 1e-7] (keras.md 4.2,
// TensorFlow's rules).
Value sparse_cross_entropy(Value probabilities, Value labels);
Value cross_entropy(Value probabilities, Value targets);
Value binary_cross_entropy(Value probabilities, Value targets);  // Element by element.

// --- Normalisation ---

struct BatchNormOptions {
  float epsilon = 1e-3f;
  double momentum = 0.99;  // Double: 1 - momentum is rounded once, as in Keras.
  Value gamma, beta;       // [channels]; may be empty.
};
// Over all axes but the last, with the batch's statistics; moving_mean and moving_variance
// (variables) are updated by a committing node.
Value batch_norm_training(Value x, Value moving_mean, Value moving_variance,
                          const BatchNormOptions& options);
Value batch_norm_inference(Value x, Value moving_mean, Value moving_variance,
                           const BatchNormOptions& options);
// Over the last `axes` axes. gamma and beta have those axes' shape, or are empty.
struct LayerNormOptions {
  float epsilon = 1e-3f;
  int axes = 1;
  Value gamma, beta;
};
Value layer_norm(Value x, const LayerNormOptions& options);
Value rms_norm(Value x, Value scale, float epsilon = 1e-6f);  // Over the last axis.
struct GroupNormOptions {
  int64_t groups = 32;
  float epsilon = 1e-3f;
  Value gamma, beta;
};
Value group_norm(Value x, const GroupNormOptions& options);

// --- Tables, shapes, types ---

// Rows of table [n, dim] at indices (int32, any shape): [..., dim]. The gradient of the table is
// kept as rows with their sums. An index outside the table gives NaN (rows are checked when they
// are staged).
Value embedding(Value table, Value indices);
// A row gradient (Traits::row_gradient) as a dense value of the table's shape.
Value dense_rows(Value row_gradient, const Shape& table);
// The row gradient that dense_rows was given; any other value as it is.
Value row_gradient_of(Value dense);
Value concat(const Values& values, int axis);
// For each axis: `size` elements, `step` apart (1 where step is empty, negative to go back), from
// `begin` on (negative: from the end). A size of -1 takes all that there are; the axis of rows must
// be taken so.
struct SliceOptions {
  std::vector<int64_t> begin, size, step;
};
Value slice(Value x, const SliceOptions& options);
Value pad(Value x, const std::vector<std::array<int64_t, 2>>& before_after, float value = 0);
Value reshape(Value x, const Shape& shape);  // Rows stay outermost; one extent may be -1.
Value transpose(Value x, const std::vector<int>& axes);
Value broadcast_to(Value x, const Shape& shape);
Value cast(Value x, DType dtype);
Value one_hot(Value indices,
              int64_t classes);  // int32 -> float32; a row of zeros for an index outside.
Value upsample2d(Value x, std::array<int64_t, 2> factors, bool bilinear);
Value stop_gradient(Value x);
// A value without inputs, filled with a number.
Value constant(Graph& graph, const Shape& shape, float value);

// --- State: nodes that commit ---

// variable = value, variable += value, after everything that only computes. A value that is itself
// a variable counts as it was before any of the step's commits.
void assign(Value variable, Value value);
void assign_add(Value variable, Value value);

}  // namespace snug::ops

#include "bench/bare_library.h"

#include <string_view>

#include "bench/machine_limits.h"
#include "snug/base/error.h"
#include "snug/kernels/onednn_matmul.h"
#include "snug/tensor/arena.h"

namespace snug::bench {
namespace {

// Floats that are no denormals.
class Operand {
 public:
  explicit Operand(int64_t floats) : arena_(static_cast<size_t>(floats) * sizeof(float) + 64) {
    for (int64_t i = 0; i < floats; ++i) data()[i] = static_cast<float>(i % 13) * 0.1f - 0.5f;
  }
  float* data() { return reinterpret_cast<float*>(arena_.data()); }

 private:
  Arena arena_;
};

double matmul_ns(const Node& node) {
  const Type a = node.input_types()[0].at(kRowsHeld), b = node.input_types()[1].at(kRowsHeld);
  const std::string attributes = node.op().attributes();
  OnednnMatmulShape shape;
  shape.transpose_a = node.op().name() == "matmul_weights_gradient" ||
                      attributes.find("transpose_a") != std::string::npos;
  shape.transpose_b = attributes.find("transpose_b") != std::string::npos;
  shape.rows = a.shape[shape.transpose_a ? 1 : 0];
  shape.depth = a.shape[shape.transpose_a ? 0 : 1];
  shape.columns = b.shape[shape.transpose_b ? 0 : 1];
  OnednnMatmul matmul(shape, 1);
  matmul.compile(1);
  Operand x(a.shape.size()), w(b.shape.size()), y(shape.rows * shape.columns);
  const Arena scratch(matmul.scratch_bytes() + 64);
  return best_ns([&] {
    const bool ran = matmul.run(0, x.data(), w.data(), nullptr, y.data(), scratch.data());
    SNUG_CHECK(ran, "matmul");
  });
}

double convolution_ns(const OnednnConvolutionShape& s, ConvolutionDirection direction) {
  OnednnConvolution convolution(s, direction, 1);
  convolution.compile(1);
  Operand x(s.batch * s.height * s.width * s.channels);
  Operand y(s.batch * s.out_height() * s.out_width() * s.filters);
  Operand w(s.kernel_height * s.kernel_width * s.channels / s.groups * s.filters);
  const Arena scratch(convolution.scratch_bytes() + 64), own(convolution.weights_bytes() + 64);
  const void* weights = w.data();
  if (convolution.weights_bytes() > 0) {
    SNUG_CHECK(convolution.prepare(0, w.data(), own.data(), scratch.data()), "prepare");
    weights = own.data();
  }
  return best_ns([&] {
    bool ran = false;
    if (direction == ConvolutionDirection::forward)
      ran = convolution.run_forward(0, x.data(), weights, nullptr, y.data(), scratch.data());
    else if (direction == ConvolutionDirection::input_gradient)
      ran = convolution.run_input_gradient(0, y.data(), weights, x.data(), scratch.data());
    else
      ran = convolution.run_weights_gradient(0, x.data(), y.data(), w.data(), scratch.data());
    SNUG_CHECK(ran, "convolution");
  });
}

}  // namespace

std::optional<double> bare_library_ns(const Node& node, const OpCase& c) {
  const std::string_view name = node.op().name();
  if (name == "matmul" || name == "matmul_weights_gradient") return matmul_ns(node);
  if (!c.convolution) return std::nullopt;
  if (name == "conv2d" || name == "depthwise_conv2d")
    return convolution_ns(*c.convolution, ConvolutionDirection::forward);
  if (name == "conv2d_image_gradient")
    return convolution_ns(*c.convolution, ConvolutionDirection::input_gradient);
  if (name == "conv2d_kernel_gradient")
    return convolution_ns(*c.convolution, ConvolutionDirection::weights_gradient);
  return std::nullopt;
}

}  // namespace snug::bench

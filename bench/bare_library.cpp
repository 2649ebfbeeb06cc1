#include "bench/bare_library.h"

#include <memory>
#include <string_view>

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

std::function<void()> matmul_call(const Node& node) {
  const Type a = node.input_types()[0].at(kRowsHeld), b = node.input_types()[1].at(kRowsHeld);
  const std::string attributes = node.op().attributes();
  OnednnMatmulShape shape;
  shape.transpose_a = node.op().name() == "matmul_weights_gradient" ||
                      attributes.find("transpose_a") != std::string::npos;
  shape.transpose_b = attributes.find("transpose_b") != std::string::npos;
  shape.rows = a.shape[shape.transpose_a ? 1 : 0];
  shape.depth = a.shape[shape.transpose_a ? 0 : 1];
  shape.columns = b.shape[shape.transpose_b ? 0 : 1];
  struct Call {
    Call(const OnednnMatmulShape& s, int64_t a_size, int64_t b_size)
        : matmul(s, 1), x(a_size), w(b_size), y(s.rows * s.columns) {
      matmul.compile(1);
      scratch = Arena(matmul.scratch_bytes() + 64);
    }
    OnednnMatmul matmul;
    Operand x, w, y;
    Arena scratch;
  };
  const auto call = std::make_shared<Call>(shape, a.shape.size(), b.shape.size());
  return [call] {
    const bool ran = call->matmul.run(0, call->x.data(), call->w.data(), nullptr, call->y.data(),
                                      call->scratch.data());
    SNUG_CHECK(ran, "matmul");
  };
}

struct ConvolutionCall {
  ConvolutionCall(const OnednnConvolutionShape& s, ConvolutionDirection direction)
      : convolution(s, direction, 1),
        x(s.batch * s.height * s.width * s.channels),
        y(s.batch * s.out_height() * s.out_width() * s.filters),
        w(s.kernel_height * s.kernel_width * s.channels / s.groups * s.filters) {
    convolution.compile(1);
    scratch = Arena(convolution.scratch_bytes() + 64);
    own = Arena(convolution.weights_bytes() + 64);
    if (convolution.weights_bytes() == 0 || direction == ConvolutionDirection::weights_gradient)
      return;
    SNUG_CHECK(convolution.prepare(0, w.data(), own.data(), scratch.data()), "prepare");
    weights = own.data();
  }

  OnednnConvolution convolution;
  Operand x, y, w;
  Arena scratch, own;
  const void* weights = w.data();
};

std::function<void()> convolution_call(const OnednnConvolutionShape& s,
                                       ConvolutionDirection direction) {
  const auto call = std::make_shared<ConvolutionCall>(s, direction);
  return [call, direction] {
    ConvolutionCall& c = *call;
    bool ran = false;
    if (direction == ConvolutionDirection::forward)
      ran = c.convolution.run_forward(0, c.x.data(), c.weights, nullptr, c.y.data(),
                                      c.scratch.data());
    else if (direction == ConvolutionDirection::input_gradient)
      ran =
          c.convolution.run_input_gradient(0, c.y.data(), c.weights, c.x.data(), c.scratch.data());
    else
      ran = c.convolution.run_weights_gradient(0, c.x.data(), c.y.data(), c.w.data(),
                                               c.scratch.data());
    SNUG_CHECK(ran, "convolution");
  };
}

}  // namespace

std::function<void()> bare_library_call(const Node& node, const OpCase& c) {
  const std::string_view name = node.op().name();
  if (name == "matmul" || name == "matmul_weights_gradient") return matmul_call(node);
  if (!c.convolution) return {};
  if (name == "conv2d" || name == "depthwise_conv2d")
    return convolution_call(*c.convolution, ConvolutionDirection::forward);
  if (name == "conv2d_image_gradient")
    return convolution_call(*c.convolution, ConvolutionDirection::input_gradient);
  if (name == "conv2d_kernel_gradient")
    return convolution_call(*c.convolution, ConvolutionDirection::weights_gradient);
  return {};
}

}  // namespace snug::bench

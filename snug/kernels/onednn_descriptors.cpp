#include "snug/kernels/onednn_descriptors.h"

namespace snug {
namespace {

using Attributes = std::unique_ptr<dnnl_primitive_attr, OnednnDestroy<dnnl_primitive_attr_destroy>>;
using PostOps = std::unique_ptr<dnnl_post_ops, OnednnDestroy<dnnl_post_ops_destroy>>;

void add_to_result(dnnl_primitive_attr_t attributes) {
  dnnl_post_ops_t made = nullptr;
  check_onednn(dnnl_post_ops_create(&made), "post_ops_create");
  const PostOps post_ops(made);
#if DNNL_VERSION_MAJOR >= 3
  check_onednn(dnnl_post_ops_append_sum(made, 1.0f, 0, dnnl_data_type_undef),
               "post_ops_append_sum");
#else
  check_onednn(dnnl_post_ops_append_sum(made, 1.0f), "post_ops_append_sum");
#endif
  check_onednn(dnnl_primitive_attr_set_post_ops(attributes, made), "primitive_attr_set_post_ops");
}

Attributes make_attributes(bool accumulate) {
  dnnl_primitive_attr_t made = nullptr;
  check_onednn(dnnl_primitive_attr_create(&made), "primitive_attr_create");
  Attributes attributes(made);
  check_onednn(dnnl_primitive_attr_set_scratchpad_mode(made, dnnl_scratchpad_mode_user),
               "primitive_attr_set_scratchpad_mode");
  if (accumulate) add_to_result(made);
  return attributes;
}

#if DNNL_VERSION_MAJOR < 3
// Version 2 makes a descriptor in two steps; the first only fills a struct.
OnednnDescriptor second_step(const_dnnl_op_desc_t operation, bool accumulate) {
  dnnl_primitive_desc_t made = nullptr;
  check_onednn(dnnl_primitive_desc_create(&made, operation, make_attributes(accumulate).get(),
                                          onednn_engine(), nullptr),
               "primitive_desc_create");
  return OnednnDescriptor(made);
}
#endif

}  // namespace

OnednnDescriptor describe_reorder(const OnednnFormat& from, const OnednnFormat& to,
                                  bool accumulate) {
  dnnl_primitive_desc_t made = nullptr;
  check_onednn(
      dnnl_reorder_primitive_desc_create(&made, from.get(), onednn_engine(), to.get(),
                                         onednn_engine(), make_attributes(accumulate).get()),
      "reorder_primitive_desc_create");
  return OnednnDescriptor(made);
}

#if DNNL_VERSION_MAJOR >= 3

OnednnDescriptor describe_matmul(const OnednnFormat& a, const OnednnFormat& b,
                                 const OnednnFormat& bias, const OnednnFormat& c, bool accumulate) {
  dnnl_primitive_desc_t made = nullptr;
  check_onednn(
      dnnl_matmul_primitive_desc_create(&made, onednn_engine(), a.get(), b.get(), bias.get(),
                                        c.get(), make_attributes(accumulate).get()),
      "matmul_primitive_desc_create");
  return OnednnDescriptor(made);
}

OnednnDescriptor describe_forward(const OnednnConvolutionFormats& formats,
                                  const OnednnWindow& window) {
  dnnl_primitive_desc_t made = nullptr;
  check_onednn(
      dnnl_convolution_forward_primitive_desc_create(
          &made, onednn_engine(), dnnl_forward_inference, dnnl_convolution_direct, formats.x.get(),
          formats.weights.get(), formats.bias.get(), formats.y.get(), window.strides,
          window.dilations, window.before, window.after, make_attributes(false).get()),
      "convolution_forward_primitive_desc_create");
  return OnednnDescriptor(made);
}

OnednnDescriptor describe_input_gradient(const OnednnConvolutionFormats& formats,
                                         const OnednnWindow& window) {
  dnnl_primitive_desc_t made = nullptr;
  check_onednn(dnnl_convolution_backward_data_primitive_desc_create(
                   &made, onednn_engine(), dnnl_convolution_direct, formats.x.get(),
                   formats.weights.get(), formats.y.get(), window.strides, window.dilations,
                   window.before, window.after, nullptr, make_attributes(false).get()),
               "convolution_backward_data_primitive_desc_create");
  return OnednnDescriptor(made);
}

OnednnDescriptor describe_weights_gradient(const OnednnConvolutionFormats& formats,
                                           const OnednnWindow& window) {
  dnnl_primitive_desc_t made = nullptr;
  check_onednn(
      dnnl_convolution_backward_weights_primitive_desc_create(
          &made, onednn_engine(), dnnl_convolution_direct, formats.x.get(), formats.weights.get(),
          nullptr, formats.y.get(), window.strides, window.dilations, window.before, window.after,
          nullptr, make_attributes(false).get()),
      "convolution_backward_weights_primitive_desc_create");
  return OnednnDescriptor(made);
}

#else

OnednnDescriptor describe_matmul(const OnednnFormat& a, const OnednnFormat& b,
                                 const OnednnFormat& bias, const OnednnFormat& c, bool accumulate) {
  dnnl_matmul_desc_t operation;
  check_onednn(dnnl_matmul_desc_init(&operation, a.get(), b.get(), bias.get(), c.get()),
               "matmul_desc_init");
  return second_step(&operation, accumulate);
}

OnednnDescriptor describe_forward(const OnednnConvolutionFormats& formats,
                                  const OnednnWindow& window) {
  dnnl_convolution_desc_t operation;
  check_onednn(dnnl_dilated_convolution_forward_desc_init(
                   &operation, dnnl_forward_inference, dnnl_convolution_direct, formats.x.get(),
                   formats.weights.get(), formats.bias.get(), formats.y.get(), window.strides,
                   window.dilations, window.before, window.after),
               "dilated_convolution_forward_desc_init");
  return second_step(&operation, false);
}

OnednnDescriptor describe_input_gradient(const OnednnConvolutionFormats& formats,
                                         const OnednnWindow& window) {
  dnnl_convolution_desc_t operation;
  check_onednn(dnnl_dilated_convolution_backward_data_desc_init(
                   &operation, dnnl_convolution_direct, formats.x.get(), formats.weights.get(),
                   formats.y.get(), window.strides, window.dilations, window.before, window.after),
               "dilated_convolution_backward_data_desc_init");
  return second_step(&operation, false);
}

OnednnDescriptor describe_weights_gradient(const OnednnConvolutionFormats& formats,
                                           const OnednnWindow& window) {
  dnnl_convolution_desc_t operation;
  check_onednn(
      dnnl_dilated_convolution_backward_weights_desc_init(
          &operation, dnnl_convolution_direct, formats.x.get(), formats.weights.get(), nullptr,
          formats.y.get(), window.strides, window.dilations, window.before, window.after),
      "dilated_convolution_backward_weights_desc_init");
  return second_step(&operation, false);
}

#endif

}  // namespace snug

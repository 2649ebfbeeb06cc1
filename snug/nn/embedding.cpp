#include "snug/nn/embedding.h"

#include "snug/nn/visit_settings.h"
#include "snug/ops/ops.h"

namespace snug {
namespace {

class EmbeddingDefinition final : public UnaryLayer {
 public:
  EmbeddingDefinition(int64_t input_dim, int64_t output_dim, const EmbeddingOptions& options)
      : input_dim_(input_dim), output_dim_(output_dim), options_(options) {}

  std::string_view class_name() const override { return "Embedding"; }

  void settings(SettingVisitor& visitor) override {
    visitor.visit("input_dim", input_dim_);
    visitor.visit("output_dim", output_dim_);
    visit_initializer(visitor, "embeddings_initializer", options_.embeddings_initializer);
    visit_regularizer(visitor, "embeddings_regularizer", options_.embeddings_regularizer);
    visit_regularizer(visitor, "activity_regularizer", options_.activity_regularizer);
    visit_constraint(visitor, "embeddings_constraint");
    visitor.visit("mask_zero", options_.mask_zero);
  }

 private:
  bool keeps_dtype() const override { return true; }

  void build_for(const Shape&) override {
    expect_positive("input_dim", input_dim_, "give the number of ids: the largest id and one");
    expect_positive("output_dim", output_dim_, "give the length of each id's row, 1 or more");
    embeddings_ = add_weight({.name = "embeddings",
                              .type = {DType::float32, {input_dim_, output_dim_}},
                              .initializer = options_.embeddings_initializer,
                              .regularizer = options_.embeddings_regularizer});
  }

  Value apply(Tracer& tracer, Value x) override {
    const Value ids = x.dtype() == DType::int32 ? x : ops::cast(x, DType::int32);
    const Value y = ops::embedding(tracer.value(embeddings_), ids);
    if (options_.mask_zero) tracer.set_mask(y, ops::cast(ids, DType::boolean));
    if (options_.activity_regularizer)
      tracer.add_activity_loss(options_.activity_regularizer->penalty(y));
    return y;
  }

  int64_t input_dim_, output_dim_;
  EmbeddingOptions options_;
  VariablePtr embeddings_;
};

}  // namespace

Layer Embedding(int64_t input_dim, int64_t output_dim, const EmbeddingOptions& options) {
  return named_layer<EmbeddingDefinition>(options, input_dim, output_dim, options);
}

}  // namespace snug

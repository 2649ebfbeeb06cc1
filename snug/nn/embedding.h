#pragma once

#include "snug/nn/unary_layer.h"

namespace snug {

struct EmbeddingOptions {
  InitializerPtr embeddings_initializer = random_uniform();
  RegularizerPtr embeddings_regularizer, activity_regularizer;
  bool mask_zero = false;  // Steps whose id is 0 are padding: later layers leave them out.
  std::string name;
  bool trainable = true;
};

// Ids below input_dim -> rows of a table: [rows, ...] -> [rows, ..., output_dim]. Weight:
// embeddings [input_dim, output_dim].
Layer Embedding(int64_t input_dim, int64_t output_dim, const EmbeddingOptions& options = {});

}  // namespace snug

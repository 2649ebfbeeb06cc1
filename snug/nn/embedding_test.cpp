#include "snug/nn/embedding.h"

#include "snug/nn/dense.h"
#include "snug/nn/pooling.h"
#include "snug/nn/shape_layers.h"
#include "snug/testing/layer_call.h"
#include "snug/testing/layer_run.h"

namespace snug::testing {
namespace {

TEST(Embedding, ShapesAndWeights) {
  const Layer layer = Embedding(9, 4);
  EXPECT_EQ(result_of(layer, {5}, DType::int32), (Shape{kRows, 5, 4}));
  EXPECT_EQ(result_of(layer, {5}), (Shape{kRows, 5, 4}));
  EXPECT_EQ(result_of(layer, {}, DType::int32), (Shape{kRows, 4}));
  EXPECT_EQ(weights_of(layer), "embeddings [9, 4]");
}

// Which layers pass the mask on, as in Keras.
TEST(Embedding, MaskOfZeros) {
  Graph graph;
  Tracer tracer(graph, /*training=*/false);
  const Value ids = graph.input("ids", {DType::int32, {kRows, 5}});
  const auto call = [&](const Layer& layer, Value x) {
    return call_layer(layer.definition(), tracer, {x})[0];
  };
  EXPECT_FALSE(tracer.mask(call(Embedding(9, 4), ids)));
  const Value x = call(Embedding(9, 4, {.mask_zero = true}), ids);
  EXPECT_EQ(tracer.mask(x).type(), (Type{DType::boolean, {kRows, 5}}));
  EXPECT_EQ(tracer.mask(call(Dense(3), x)), tracer.mask(x));
  EXPECT_FALSE(tracer.mask(call(Flatten(), x)));
  EXPECT_FALSE(tracer.mask(call(GlobalMaxPooling1D(), x)));
}

TEST(Embedding, Messages) {
  EXPECT_EQ(error_on(Embedding(0, 4), {5}),
            "embedding: input_dim is 0; give the number of ids: the largest id and one");
  EXPECT_EQ(error_on(Embedding(9, 0), {5}),
            "embedding: output_dim is 0; give the length of each id's row, 1 or more");
}

}  // namespace
}  // namespace snug::testing

#include "snug/train/id_range.h"

#include <gtest/gtest.h>

#include "snug/nn/embedding.h"
#include "snug/nn/shape_layers.h"
#include "snug/train/fit_testing.h"

namespace snug::testing {
namespace {

std::optional<int64_t> below(const std::vector<Layer>& layers) {
  Sequential model(layers);
  const StepGraph step = prediction_step(model.network());
  return ids_below(*step.graph, step.inputs[0]);
}

TEST(IdRange, IsTheTableThatAnInputIsLookedUpIn) {
  EXPECT_EQ(below({Input({3}), Dense(1)}), std::nullopt);
  EXPECT_EQ(below({Input({3}, {.dtype = DType::int32}), Embedding(10, 2)}), 10);
  EXPECT_EQ(below({Input({6}), Reshape({2, 3}), Embedding(7, 2)}), 7);
  EXPECT_EQ(below({Input({3}), Dense(3), Embedding(7, 2)}), std::nullopt);
}

TEST(IdRange, TheSmallestTableCounts) {
  const Symbol x = Input({3}, {.dtype = DType::int32});
  Model model(Symbols{x}, Symbols{Embedding(10, 2)(x), Embedding(8, 2)(x)});
  const StepGraph step = prediction_step(model.network());
  EXPECT_EQ(ids_below(*step.graph, step.inputs[0]), 8);
}

TEST(IdRange, FindsTheFirstThatIsOutside) {
  std::vector<int32_t> ids(100, 9);
  const Tensor slot{{DType::int32, {100}}, ids.data()};
  EXPECT_FALSE(first_bad_id(slot, 10));
  ids[70] = -1;
  EXPECT_EQ(first_bad_id(slot, 10), 70);
  ids[31] = 10;
  EXPECT_EQ(first_bad_id(slot, 10), 31);
  std::vector<float> numbers = {0, -0.5F, 9.5F, 10};
  EXPECT_EQ(first_bad_id({{DType::float32, {4}}, numbers.data()}, 10), 3);
}

// Wherever the rows are: lent, shuffled from an array, or in a sequence.
TEST(IdRange, ARowWithAnIdThatIsNoneIsNamed) {
  std::vector<int32_t> ids(40, 3);
  ids[17] = 10;
  const std::vector<float> y(20, 1);
  for (const bool shuffle : {false, true}) {
    Sequential model({Input({2}, {.dtype = DType::int32}), Embedding(10, 2), Flatten(), Dense(1)});
    model.compile({.optimizer = "sgd", .loss = "mse"});
    std::string message;
    try {
      model.fit(data::arrays(Array(ids.data(), {20, 2}), Array(y)),
                {.batch_size = 4, .shuffle = shuffle, .verbose = 0});
    } catch (const DataError& error) {
      message = error.what();
    }
    EXPECT_EQ(message.find("x: row 8 has the id 10 in column 1, but an embedding has ids 0 to 9"),
              message.find("x: row 8"))
        << message;
    EXPECT_NE(message, "");
  }
}

}  // namespace
}  // namespace snug::testing

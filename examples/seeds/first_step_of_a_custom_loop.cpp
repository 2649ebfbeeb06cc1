// Seed 003, third snippet: a step of one's own, whose first call compiles the graph. Here that is
// over when trace returns: the first step allocates nothing.
#include "examples/seeds/seed.h"

using namespace seed;

int main() {
  const std::vector<float> x_train = random_numbers<float>(1000 * 100);
  const std::vector<float> y_train = random_numbers<float>(1000);
  const Dataset batches = Dataset::from_tensor_slices(Array(x_train.data(), {1000, 100}),
                                                      Array(y_train.data(), {1000, 1}))
                              .batch(32);
  Sequential model({Input({100}), Dense(64, "relu"), Dense(1, "sigmoid")});
  const OptimizerState optimizer(Adam());
  Step train_step =
      trace(batches.spec(), {.memory = 16_MiB}, [&](const Values& x, const Values& y) {
        GradientTape tape;
        const Value loss = BinaryCrossentropy()(y[0], model(x[0]));
        optimizer.apply_gradients(tape.gradient(loss, model.trainable_variables()),
                                  model.trainable_variables());
        return loss;
      });

  const int64_t allocated = allocated_bytes();
  fmt::print("Memory usage before the steps: {}\n", bytes_text(resident_bytes()));
  for (const Batch& batch : batches.take(2)) fmt::print("Loss: {}\n", train_step(batch));
  fmt::print("Memory usage after the steps: {}\n", bytes_text(resident_bytes()));
  promise_allocations(allocated, 64_KiB, "the first step");  // The loop's own batch, 13 KiB.
}

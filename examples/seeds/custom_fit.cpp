// Seed 004, first snippet: a fit of one's own that deletes its tensors. (It cannot run there: it
// deletes the loss and then returns it.) Here every value has the lifetime that the plan gives it,
// and what is wrong with the snippet is said.
#include "examples/seeds/digits.h"

using namespace seed;

namespace {

// What compile says about the seed's own model: crossentropy without softmax.
void promise_lint() {
  Sequential model({Input({kPixels}), Dense(10)});
  try {
    model.compile({.optimizer = "adam", .loss = "categorical_crossentropy"});
    promise(false, "a model without softmax is refused");
  } catch (const Error& error) {
    promise(true, error.what());
  }
}

void custom_fit(Step& step, const Dataset& batches, int epochs) {
  for (int epoch = 0; epoch < epochs; ++epoch) {
    step.begin_epoch(epoch);
    float loss = 0;
    for (const Batch& batch : batches) loss = step(batch);
    fmt::print("Epoch: {}, Loss: {}\n", epoch, loss);
  }
}

}  // namespace

int main() {
  promise_lint();
  const Digits digits;
  Sequential model({Input({kPixels}), Dense(10, "softmax")});
  const OptimizerState optimizer(Adam());
  const Dataset batches = digits.batches();
  Step step = digit_step(model, optimizer, batches);
  custom_fit(step, batches, 1);
  const int64_t first = resident_bytes();
  custom_fit(step, batches, 9);
  promise_growth(first, 1_MiB, "after the first epoch");
}

// Seed 004, second snippet: eager execution, to see what happens and to keep less. Here there is
// one engine: the same step runs whole, or node by node with every value readable, and gives the
// same loss.
#include "examples/seeds/digits.h"

using namespace seed;

int main() {
  const Digits digits;
  const Dataset batches = digits.batches();
  Sequential model({Input({kPixels}), Dense(10, "softmax")}),
      same = Sequential({Input({kPixels}), Dense(10, "softmax")});
  const OptimizerState optimizer(Adam()), other(Adam());
  Step whole = digit_step(model, optimizer, batches);
  Step by_node = digit_step(same, other, batches, /*keep_all=*/true);

  int64_t first = 0;
  for (int epoch = 0; epoch < 20; ++epoch) {
    int nodes = 0;
    float loss = 0;
    for (const Batch& batch : batches) {
      loss = whole(batch);
      by_node.each_node(batch, [&](const Node& node) {
        if (epoch == 0 && nodes++ < 8) fmt::print("  {}\n", node.op().name());
      });
      promise(std::abs(loss - by_node.result(0).as<float>()[0]) < 1e-5F, "the same loss");
    }
    fmt::print("Epoch: {}, Loss: {}\n", epoch, loss);
    if (epoch == 0) first = resident_bytes();
  }
  promise_growth(first, 1_MiB, "after the first epoch");
}

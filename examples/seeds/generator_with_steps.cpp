// Seed 001, second snippet: a generator of batches with steps_per_epoch. Memory is the same in the
// last step as in the first.
#include "examples/seeds/rows.h"

using namespace seed;

int main(int argc, char** argv) {
  const RowSize size = row_size(is_small(argc, argv));
  std::mt19937_64 random(5);
  const auto next = [&random](std::span<const Tensor> slots) {
    for (float& number : slots[0].as<float>())
      number = static_cast<float>(random() >> 40) / static_cast<float>(1 << 24);
    for (int32_t& label : slots[1].as<int32_t>()) label = static_cast<int32_t>(random() % 2);
    return slots[1].size();
  };
  int64_t first = 0;
  LambdaCallbackOptions watch;
  watch.on_train_batch_end = [&first](int64_t, const Logs&) {
    if (first == 0) first = resident_bytes();
  };

  Sequential model = row_model();
  const History history =
      model.fit(data::generator(next, {.x = {{kFeatures}}, .y = {{}, DType::int32}}),
                {.batch_size = 32,
                 .epochs = size.epochs,
                 .steps_per_epoch = size.rows / 32,
                 .callbacks = {LambdaCallback(watch)},
                 .verbose = 2,
                 .memory = 16_MiB});
  promise_losses(history);
  promise_growth(first, 1_MiB, "after the first step");
}

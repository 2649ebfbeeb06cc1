// Seed 001, third snippet: from_tensor_slices().batch(32).prefetch(). There, the whole set becomes
// a tensor of its own. Here the Dataset borrows the arrays, and gives the same losses as fit on the
// arrays themselves.
#include "examples/seeds/rows.h"

using namespace seed;

int main(int argc, char** argv) {
  const RowSize size = row_size(is_small(argc, argv));
  const std::vector<float> data = random_numbers<float>(size.rows * kFeatures);
  const std::vector<int32_t> labels = random_labels(size.rows, 2);
  const Array x(data.data(), {size.rows, kFeatures}), y(labels);
  const int64_t before = resident_bytes();

  const Dataset dataset = Dataset::from_tensor_slices(x, y).batch(32).prefetch();
  Sequential model = row_model();
  const FitOptions options{.batch_size = dataset.batch_size(),
                           .epochs = size.epochs,
                           .shuffle = false,
                           .verbose = 2,
                           .memory = 16_MiB};
  const History history = model.fit(dataset.source(), options);
  promise_losses(history);
  promise_growth(before, 8_MiB, "the caller's own array");

  Sequential same = row_model();
  promise(same.fit(data::arrays(x, y), options).history == history.history,
          "the same losses as from the arrays");
}

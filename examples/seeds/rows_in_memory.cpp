// Seed 001, first snippet: a million rows of float64 in memory. There, fit makes a copy of float32
// and one more. Here the rows stay where they are, and each batch is cast into its slot.
#include "examples/seeds/rows.h"

using namespace seed;

int main(int argc, char** argv) {
  const RowSize size = row_size(is_small(argc, argv));
  const std::vector<double> data = random_numbers<double>(size.rows * kFeatures);
  const std::vector<int32_t> labels = random_labels(size.rows, 2);
  const int64_t before = resident_bytes();

  Sequential model = row_model();
  const History history =
      model.fit(data::arrays(Array(data.data(), {size.rows, kFeatures}), Array(labels)),
                {.batch_size = 32, .epochs = size.epochs, .verbose = 2, .memory = 16_MiB});
  promise_losses(history);
  promise_growth(before, 8_MiB, "the caller's own array");
}

// Seed 003, second snippet: the same with a larger model and more rows.
#include "examples/seeds/training_memory.h"

using namespace seed;

int main(int argc, char** argv) {
  const int64_t rows = is_small(argc, argv) ? 1000 : 10000;
  Sequential model({Input({200}), Dense(512, "relu"), Dropout(0.5), Dense(256, "relu"),
                    Dropout(0.5), Dense(1, "sigmoid")});
  model.compile({.optimizer = "adam", .loss = "binary_crossentropy"});
  fit_and_promise(model,
                  {.rows = rows, .validation_rows = rows / 5, .features = 200, .batch_size = 64});
}

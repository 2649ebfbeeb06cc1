// Seed 003, first snippet: memory printed before and after fit. There it grows before the first
// step, by what the graph's compilation takes. Here the plan says what it will be, fit needs that
// much, and gives it back.
#include "examples/seeds/training_memory.h"

using namespace seed;

int main() {
  Sequential model({Input({100}), Dense(64, "relu"), Dense(1, "sigmoid")});
  model.compile({.optimizer = "adam", .loss = "binary_crossentropy"});
  fit_and_promise(model, {.rows = 1000, .validation_rows = 200, .features = 100, .batch_size = 32});
}

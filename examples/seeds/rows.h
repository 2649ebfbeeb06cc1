// Seed 001: its model, and how its three forms are compared.
#pragma once

#include "examples/seeds/seed.h"

namespace seed {

constexpr int64_t kFeatures = 100;

inline Sequential row_model() {
  Sequential model({Input({kFeatures}), Dense(64, "relu"), Dense(1, "sigmoid")});
  model.compile({.optimizer = "adam", .loss = "binary_crossentropy", .metrics = {"accuracy"}});
  return model;
}

// 10 epochs of a million rows, or a test's share of them.
struct RowSize {
  int64_t rows = 1000000;
  int epochs = 10;
};
inline RowSize row_size(bool small) { return small ? RowSize{20000, 2} : RowSize{}; }

// Labels are drawn at random, so that the loss starts near log(2) and stays there.
inline void promise_losses(const History& history) {
  for (const double loss : history.history.at("loss"))
    promise(loss > 0.6 && loss < 0.8, fmt::format("a loss of {:.4f} for labels by chance", loss));
}

}  // namespace seed

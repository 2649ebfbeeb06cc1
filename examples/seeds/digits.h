// Seed 004: five batches of 32 rows with 784 numbers, and a step of one's own.
#pragma once

#include "examples/seeds/seed.h"

namespace seed {

constexpr int64_t kPixels = 784, kClasses = 10, kBatch = 32, kBatches = 5;

// One-hot rows: the seed's own labels, whole numbers from 0 to 9 in every column, are no
// distribution.
struct Digits {
  std::vector<float> images = random_numbers<float>(kBatches * kBatch * kPixels);
  std::vector<float> labels = one_hot(random_labels(kBatches * kBatch, kClasses));

  Dataset batches() const {
    return Dataset::from_tensor_slices(Array(images.data(), {kBatches * kBatch, kPixels}),
                                       Array(labels.data(), {kBatches * kBatch, kClasses}))
        .batch(kBatch);
  }

  static std::vector<float> one_hot(const std::vector<int32_t>& classes) {
    std::vector<float> rows(classes.size() * kClasses);
    for (size_t i = 0; i < classes.size(); ++i) rows[i * kClasses + classes[i]] = 1;
    return rows;
  }
};

inline Step digit_step(Sequential& model, const OptimizerState& optimizer, const Dataset& batches,
                       bool keep_all = false) {
  return trace(batches.spec(), {.memory = 16_MiB, .keep_all = keep_all},
               [&](const Values& x, const Values& y) {
                 GradientTape tape;
                 const Value predictions = model(x[0]);
                 const Value loss = CategoricalCrossentropy()(y[0], predictions);
                 optimizer.apply_gradients(tape.gradient(loss, model.trainable_variables()),
                                           model.trainable_variables());
                 return loss;
               });
}

}  // namespace seed

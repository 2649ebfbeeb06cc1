// Seed 003: a fit with validation, and the memory around it.
#pragma once

#include "examples/seeds/seed.h"

namespace seed {

struct TrainingRows {
  int64_t rows = 0, validation_rows = 0, features = 0, batch_size = 32;
};

// Two epochs. The first fit of a process also loads code and compiles kernels, which stay; so it is
// the second one, of the same model, that has to leave nothing.
inline void fit_and_promise(Sequential& model, const TrainingRows& size) {
  const std::vector<double> x = random_numbers<double>(size.rows * size.features);
  const std::vector<double> x_val = random_numbers<double>(size.validation_rows * size.features, 3);
  const std::vector<int32_t> y = random_labels(size.rows, 2);
  const std::vector<int32_t> y_val = random_labels(size.validation_rows, 2, 4);
  const SourcePtr train =
      data::arrays(Array(x.data(), {size.rows, size.features}), Array(y.data(), {size.rows, 1}));
  int64_t first_step = 0;
  LambdaCallbackOptions watch;
  watch.on_train_begin = [&first_step] { first_step = resident_bytes(); };
  const FitOptions options{
      .batch_size = size.batch_size,
      .epochs = 2,
      .validation_data = data::arrays(Array(x_val.data(), {size.validation_rows, size.features}),
                                      Array(y_val.data(), {size.validation_rows, 1})),
      .callbacks = {LambdaCallback(watch)},
      .verbose = 2,
      .memory = 32_MiB};

  fmt::print("{}", model.plan(train, options).text());
  fmt::print("Memory usage before fit: {}\n", bytes_text(resident_bytes()));
  const int64_t before = resident_bytes();
  model.fit(train, options);
  fmt::print("Memory usage after fit: {}\n", bytes_text(resident_bytes()));
  promise_growth(first_step, 1_MiB, "before the first step");
  promise_growth(before, options.memory, "before fit");
  const int64_t after = resident_bytes();
  model.fit(train, options);
  promise_growth(after, 1_MiB, "after the first fit");
}

}  // namespace seed

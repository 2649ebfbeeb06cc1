// Seed 000: its model, and the generator of random images that it trains on.
#pragma once

#include "examples/seeds/seed.h"

namespace seed {

struct FrameSize {
  int64_t side = 224, batch = 32;
};
inline FrameSize frame_size(bool small) { return small ? FrameSize{12, 4} : FrameSize{}; }

inline Sequential frame_model(int64_t side) {
  return Sequential({Input({side, side, 3}), Conv2D(32, {3, 3}, {.activation = "relu"}),
                     MaxPooling2D({2, 2}), Flatten(), Dense(10, "softmax")});
}

// Random images without end, written where the step will read them.
inline Dataset random_frames(const FrameSize& size) {
  auto random = std::make_shared<std::mt19937_64>(7);
  const auto next = [random](std::span<const Tensor> slots) {
    for (float& pixel : slots[0].as<float>()) {
      pixel = static_cast<float>((*random)() >> 40) / static_cast<float>(1 << 23) - 1;
    }
    for (int32_t& label : slots[1].as<int32_t>()) label = static_cast<int32_t>((*random)() % 10);
    return slots[1].size();
  };
  return Dataset::from_generator(next, {.x = {{size.side, size.side, 3}},
                                        .y = {{}, DType::int32},
                                        .restart = [random] { random->seed(7); }})
      .batch(size.batch)
      .prefetch();
}

// The step with a tape, as the seed writes it: traced once, planned once.
inline Step frame_step(Sequential& model, const OptimizerState& optimizer, const Dataset& frames,
                       int64_t memory) {
  return trace(frames.spec(), {.memory = memory}, [&](const Values& x, const Values& y) {
    GradientTape tape;
    const Value predictions = model(x[0]);
    const Value loss = SparseCategoricalCrossentropy()(y[0], predictions);
    optimizer.apply_gradients(tape.gradient(loss, model.trainable_variables()),
                              model.trainable_variables());
    return loss;
  });
}

}  // namespace seed

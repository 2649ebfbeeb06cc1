// Seed 000, first snippet: a loop of one's own over a generator without end. There, what a step
// leaves behind may pile up until the process dies. Here the step is planned before the first batch
// is drawn, and never grows.
#include "examples/seeds/frames.h"

using namespace seed;

int main(int argc, char** argv) {
  const bool small = is_small(argc, argv);
  const FrameSize size = frame_size(small);
  const int64_t memory = small ? 48_MiB : 256_MiB;
  const int64_t before = resident_bytes();

  Sequential model = frame_model(size.side);
  const OptimizerState optimizer(Adam());
  const Dataset frames = random_frames(size);
  Step step = frame_step(model, optimizer, frames, memory);
  const int64_t ready = resident_bytes();
  fmt::print("planned: {} in one block, before the first batch\n",
             bytes_text(static_cast<int64_t>(step.program().arena_bytes())));

  int epoch = 0;
  int64_t first = 0;
  for (const Batch& batch : frames.take(50)) {
    fmt::print("Epoch: {}, Loss: {}\n", epoch, step(batch));
    if (epoch++ == 0) first = resident_bytes();
  }
  promise_growth(first, 1_MiB, "after the first step");
  // One batch of the generator's, which the loop holds, one that is made ahead, and pages of code.
  const int64_t batches = 2 * size.batch * (size.side * size.side * 3 + 1) * 4;
  promise_growth(ready, batches + 4_MiB, "when the step was planned");
  promise_growth(before, memory + batches, "at the start");
}

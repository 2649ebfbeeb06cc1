// Seed 000, second snippet: the generator as a Dataset with prefetch, of which every epoch takes
// one batch. There, each take(1) starts the generator again and throws away what was prefetched.
// Here a restart costs nothing and leaves nothing.
#include "examples/seeds/frames.h"

using namespace seed;

int main(int argc, char** argv) {
  const bool small = is_small(argc, argv);
  const FrameSize size = frame_size(small);
  Sequential model = frame_model(size.side);
  const OptimizerState optimizer(Adam());
  const Dataset frames = random_frames(size);
  Step step = frame_step(model, optimizer, frames, small ? 48_MiB : 256_MiB);

  const int epochs = small ? 500 : 50;
  int64_t first = 0;
  for (int epoch = 0; epoch < epochs; ++epoch) {
    for (const Batch& batch : frames.take(1)) {
      const float loss = step(batch);
      if (epoch % 50 == 0) fmt::print("Epoch: {}, Loss: {}\n", epoch, loss);
    }
    if (epoch == 1) first = resident_bytes();
  }
  promise_growth(first, 1_MiB, "after the second restart");
}

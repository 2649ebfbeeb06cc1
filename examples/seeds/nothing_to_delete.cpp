// Seed 000, third snippet: `del` and clear_session() after every step, as a cure. Here there is
// nothing to delete: the same loop twice, once with everything built anew for every epoch, ends
// with the same memory.
#include "examples/seeds/frames.h"

using namespace seed;

namespace {

// What the process holds after the epochs.
int64_t after_epochs(const FrameSize& size, int epochs, bool anew, int64_t memory) {
  auto model = std::make_unique<Sequential>(frame_model(size.side));
  auto optimizer = std::make_unique<OptimizerState>(Adam());
  const Dataset frames = random_frames(size);
  auto step = std::make_unique<Step>(frame_step(*model, *optimizer, frames, memory));
  for (int epoch = 0; epoch < epochs; ++epoch) {
    for (const Batch& batch : frames.take(1)) (*step)(batch);
    if (!anew) continue;
    step.reset();  // As thorough as clear_session would like to be.
    optimizer = std::make_unique<OptimizerState>(Adam());
    model = std::make_unique<Sequential>(frame_model(size.side));
    step = std::make_unique<Step>(frame_step(*model, *optimizer, frames, memory));
  }
  return resident_bytes();
}

}  // namespace

int main(int argc, char** argv) {
  const bool small = is_small(argc, argv);
  const FrameSize size = frame_size(small);
  const int64_t memory = small ? 48_MiB : 256_MiB;
  const int epochs = small ? 30 : 10;
  after_epochs(size, 2, /*anew=*/true, memory);  // What the process loads once.
  const int64_t kept = after_epochs(size, epochs, /*anew=*/false, memory);
  const int64_t anew = after_epochs(size, epochs, /*anew=*/true, memory);
  fmt::print("kept: {}, anew every epoch: {}\n", bytes_text(kept), bytes_text(anew));
  promise(std::abs(anew - kept) <= 1_MiB, "the same memory with and without deleting");
}

// Two fits in two threads of one program: each gives the bits that it gives alone.
#include <gtest/gtest.h>

#include <barrier>
#include <thread>

#include "snug/nn/convolution.h"
#include "snug/nn/shape_layers.h"
#include "snug/train/resume_testing.h"

namespace snug::testing {
namespace {

// A fit with all that runs beside it: threads, checkpoints that are written while it goes on, logs.
struct DenseFit {
  MemoryFiles files;
  Rows rows;
  RunSetup setup;
  explicit DenseFit(uint64_t seed) : rows(kRowCount, 3, seed), setup(files, rows) {
    setup.options.seed = seed;
    setup.options.threads = 2;
    setup.options.checkpoint.every_steps = 3;
  }
  Result run() { return result_of(setup, setup.run()); }
};

struct ImageFit {
  Rows rows{36, 8 * 8 * 2, 3};
  Sequential model{{Input({8, 8, 2}), Conv2D(4, {3, 3}, {.activation = "relu"}),
                    BatchNormalization(), Flatten(), Dropout(0.2), Dense(2, "softmax")}};
  ImageFit() { model.compile({.optimizer = Adam(), .loss = "sparse_categorical_crossentropy"}); }
  std::vector<std::vector<float>> run() {
    const SourcePtr data =
        data::arrays(Array(rows.x.data(), {rows.count, 8, 8, 2}), Array(rows.label));
    model.fit(data, {.batch_size = 8, .epochs = 4, .verbose = 0, .threads = 2, .seed = 9});
    return model.get_weights();
  }
};

TEST(TwoFits, InTwoThreadsGiveTheBitsTheyGiveAlone) {
  const Result alone = DenseFit(5).run();
  const auto images_alone = ImageFit().run();
  constexpr int kRounds = 5;
  for (int round = 0; round < kRounds; ++round) {
    Result result, other;
    std::vector<std::vector<float>> images;
    std::barrier start(3);
    const auto begin = [&](const auto& body) {
      return std::thread([&start, body] {
        start.arrive_and_wait();
        body();
      });
    };
    std::thread threads[] = {begin([&] { result = DenseFit(5).run(); }),
                             begin([&] { other = DenseFit(5).run(); }),
                             begin([&] { images = ImageFit().run(); })};
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(result, alone);
    EXPECT_EQ(other, alone);
    EXPECT_EQ(images, images_alone);
  }
}

}  // namespace
}  // namespace snug::testing

#include "snug/train/step_plan.h"

#include <gtest/gtest.h>

#include "snug/base/bytes.h"
#include "snug/base/error.h"
#include "snug/kernels/isa.h"
#include "snug/nn/convolution.h"
#include "snug/nn/loss.h"
#include "snug/nn/pooling.h"
#include "snug/train/fit_testing.h"
#include "snug/train/trace.h"

namespace snug::testing {
namespace {

// Many kernels, and small values beside them: each convolution has channels of its own number.
Sequential many_kernels() {
  std::vector<Layer> layers = {Input({8, 8, 3})};
  for (int i = 0; i < 24; ++i)
    layers.push_back(Conv2D(9 + i, {3, 3}, {.padding = "same", .activation = "relu"}));
  layers.push_back(GlobalAveragePooling2D());
  layers.push_back(Dense(1));
  return Sequential(layers);
}

Step training(Sequential& model, const OptimizerState& optimizer, int64_t memory) {
  const BatchSpec spec{.inputs = {{DType::float32, {kRows, 8, 8, 3}}},
                       .targets = {{DType::float32, {kRows, 1}}},
                       .batch_size = 64};
  return trace(spec, {.memory = memory, .threads = 1}, [&](const Values& x, const Values& y) {
    const Value loss = MeanSquaredError()(y[0], model(x[0]));
    optimizer.apply_gradients(GradientTape().gradient(loss, model.trainable_variables()),
                              model.trainable_variables());
    return loss;
  });
}

// What the kernels take is the budget's, too.
TEST(StepPlan, CountsItsKernels) {
  if (isa() != Isa::avx512) GTEST_SKIP() << "kernels of our own take next to nothing";
  Sequential model = many_kernels();
  int64_t others = 0;
  {
    const OptimizerState optimizer(SGD());
    const Step roomy = training(model, optimizer, 0);
    others = static_cast<int64_t>(roomy.arena()->bytes());
    for (const auto& [variable, value] : roomy.step().variables)
      others += static_cast<int64_t>(variable->type().bytes());
  }
  const OptimizerState optimizer(SGD());
  EXPECT_THROW(training(model, optimizer, others + 4_MiB + 512_KiB), BudgetError);
  EXPECT_GT(training(model, optimizer, others + 256_MiB).arena()->bytes(), 0u);
}

}  // namespace
}  // namespace snug::testing

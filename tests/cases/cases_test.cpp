// What people reported to other frameworks' trackers, as tests: the case, at a size for CI, and
// what it must do here.
#include <gtest/gtest.h>

#include "snug/base/memory.h"
#include "snug/data/dataset.h"
#include "snug/data/npy.h"
#include "snug/nn/activation_layers.h"
#include "snug/nn/convolution.h"
#include "snug/nn/merging.h"
#include "snug/nn/metrics.h"
#include "snug/nn/normalization.h"
#include "snug/nn/pooling.h"
#include "snug/nn/shape_layers.h"
#include "snug/testing/sanitized.h"
#include "snug/train/callbacks.h"
#include "snug/train/fit.h"
#include "snug/train/fit_testing.h"

namespace snug::testing {
namespace {

// A sanitizer's own memory is in the figures of the process: the cases run under it, unmeasured.
int64_t measured() { return kSanitized ? 0 : resident_bytes(); }
int64_t measured_peak() { return kSanitized ? 0 : peak_resident_bytes(); }

// Calls it so often, and gives the growth of the process from the second call on.
template <typename Call>
int64_t growth(int times, const Call& call) {
  call();
  call();
  const int64_t before = measured();
  for (int i = 2; i < times; ++i) call();
  return measured() - before;
}

template <typename Call>
std::string error_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return "";
}

void expect_parts(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts)
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in: " << text;
}

// R1 (keras#21090): a loop that builds and fits a model of 4.2 million weights grew by them every
// time.
TEST(Cases, R1ModelsInALoop) {
  const Rows rows(16, 100);
  EXPECT_LE(
      growth(20,
             [&] {
               Sequential model({Input({100}), Dense(2000, "relu"), Dense(2000, "relu"), Dense(1)});
               model.compile({.optimizer = Adam(), .loss = "mse"});
               model.fit(rows.regression(), {.batch_size = 16, .verbose = 0});
             }),
      1_MiB);
}

// R3 (tf#26108): compile() of one model, again and again.
TEST(Cases, R3CompileAgain) {
  Sequential model({Input({28, 28}), Flatten(), Dense(512, "relu"), Dense(10, "softmax")});
  EXPECT_LE(growth(10000,
                   [&] {
                     model.compile({.optimizer = "adam",
                                    .loss = "sparse_categorical_crossentropy",
                                    .metrics = {"accuracy"}});
                   }),
            1_MiB);
}

// R4 (tf#40942): images of uint16 were copied whole as float32. They stay as they are until a batch
// is staged.
TEST(Cases, R4ImagesStayAsTheyAre) {
  constexpr int64_t kImages = 48, kSide = 256, kBatch = 16;
  const std::vector<uint16_t> images(kImages * kSide * kSide, 7);
  const std::vector<float> targets(kImages, 0.5F);
  Sequential model(
      {Input({kSide, kSide, 1}), Conv2D(1, {3, 3}), GlobalAveragePooling2D(), Dense(1)});
  model.compile({.optimizer = SGD({.learning_rate = 1e-6F}), .loss = "mse"});
  const auto fit = [&] {
    model.fit(data::arrays(Array(images.data(), {kImages, kSide, kSide}), Array(targets)),
              {.batch_size = kBatch, .verbose = 0});
  };
  const FitPlan plan = model.plan({.batch_size = kBatch});
  constexpr int64_t kSlot = kBatch * kSide * kSide * 4;
  EXPECT_LE(plan.arena_bytes, 2 * kSlot);
  const int64_t before = measured();
  fit();
  EXPECT_LE(measured() - before, 8_MiB);  // Code and kernels; the arena is given back.
  EXPECT_LE(growth(4, fit), 1_MiB);
}

// R5 (tf#40523): a large array with validation, whose epochs each took a gigabyte more.
TEST(Cases, R5EpochsOverALargeArray) {
  constexpr int64_t kRows = 20000, kValidation = 4000, kNumbers = 120;
  const std::vector<float> x((kRows + kValidation) * kNumbers, 0.25F), y(kRows + kValidation, 1);
  Sequential model({Input({10, 12}), Flatten(), Dense(1)});
  model.compile({.optimizer = "adam", .loss = "mse"});
  int64_t first = 0, last = 0;
  LambdaCallbackOptions watch;
  watch.on_epoch_end = [&](int epoch, Logs&) { (epoch == 0 ? first : last) = measured(); };
  model.fit(data::arrays(Array(x.data(), {kRows, 10, 12}), Array(y.data(), {kRows})),
            {.batch_size = 256,
             .epochs = 20,
             .validation_data = data::arrays(Array(&x[kRows * kNumbers], {kValidation, 10, 12}),
                                             Array(&y[kRows], {kValidation})),
             .callbacks = {LambdaCallback(watch)},
             .verbose = 0});
  EXPECT_LE(last - first, 1_MiB);
}

// R10 (tf#123269): sources that are made, read and destroyed.
TEST(Cases, R10SourcesInALoop) {
  const Rows rows(1000, 20);
  EXPECT_LE(
      growth(500,
             [&] {
               const Dataset dataset =
                   Dataset::from_tensor_slices(rows.inputs(), Array(rows.y)).shuffle(1).batch(32);
               int64_t count = 0;
               for (const Batch& batch : dataset) count += batch.rows;
               EXPECT_EQ(count, 1000);
             }),
      1_MiB);
}

// R12 (keras#13118): predict in an endless loop.
TEST(Cases, R12PredictInALoop) {
  const Rows rows(1, 10);
  Sequential model({Input({10}), Dense(32, "relu"), Dense(1)});
  EXPECT_LE(growth(1500, [&] { model.predict(data::arrays(rows.inputs())); }), 1_MiB);
}

Symbol residual_block(const Symbol& x, int64_t filters) {
  Symbol y = Conv2D(filters, {3, 3}, {.padding = "same"})(x);
  y = Activation("relu")(BatchNormalization()(y));
  y = BatchNormalization()(Conv2D(filters, {3, 3}, {.padding = "same"})(y));
  return Activation("relu")(Add()({x, y}));
}

// R13 (keras#19500): ten forward passes of a deep residual network took more each time. The peak is
// the plan's, and the same in each of them.
TEST(Cases, R13ForwardPassesOfADeepNetwork) {
  const Symbol input = Input({32, 32, 3});
  Symbol x = Conv2D(16, {3, 3}, {.padding = "same"})(input);
  for (int block = 0; block < 12; ++block) x = residual_block(x, 16);
  Model model(input, Dense(10, "softmax")(GlobalAveragePooling2D()(x)));
  const std::vector<float> images(20 * 32 * 32 * 3, 0.5F);
  const SourcePtr data = data::arrays(Array(images.data(), {20, 32, 32, 3}));
  const auto first = model.predict(data, {.batch_size = 20});
  model.predict(data, {.batch_size = 20});
  const int64_t peak = measured_peak();
  for (int i = 0; i < 8; ++i) EXPECT_EQ(model.predict(data, {.batch_size = 20}), first);
  EXPECT_LE(measured_peak() - peak, 64_KiB);
}

// R15 (tf#44329): 13 GB of weights were allocated until the process was killed. They are named
// before any is.
TEST(Cases, R15WeightsThatNoBudgetHas) {
  const Rows rows(32, 784);
  Sequential model({Input({784}), Dense(2048 * 2048, "relu"), Dense(10, "softmax")});
  model.compile({.optimizer = "adam", .loss = "sparse_categorical_crossentropy"});
  const int64_t before = measured();
  expect_parts(error_of([&] { model.fit(rows.classes(), {.verbose = 0, .memory = 2_GiB}); }),
               {"the budget of 2.0 GiB", "GiB", "it fits with memory = "});
  expect_parts(error_of([&] { model.plan({.memory = 2_GiB}); }), {"the budget of 2.0 GiB"});
  EXPECT_LE(measured() - before, 16_MiB);
  for (const VariablePtr& weight : model.weights()) EXPECT_FALSE(weight->has_values());
}

// R18 (tf#30040): targets were broadcast against outputs. [rows] goes with [rows, 1]; anything else
// is an error.
TEST(Cases, R18TargetsAreNeverBroadcast) {
  const Rows rows(10, 8);
  const std::vector<float> y(10, 1), wide(10 * 768, 1);
  const auto loss_of = [&](const Array& targets) {
    Sequential model({Input({8}), Dense(1, "sigmoid")});
    model.compile({.optimizer = "sgd", .loss = "binary_crossentropy"});
    return model.evaluate(data::arrays(rows.inputs(), targets)).at("loss");
  };
  EXPECT_EQ(loss_of(Array(y.data(), {10})), loss_of(Array(y.data(), {10, 1})));
  expect_parts(error_of([&] { loss_of(Array(wide.data(), {10, 768})); }), {"768"});
}

// R19 (keras#18909, #17029): softmax over one unit is always 1, and crossentropy over one class
// always 0.
TEST(Cases, R19HeadsThatCannotLearn) {
  const auto compile = [](int64_t units, const char* activation, const char* loss) {
    Sequential model({Input({8}), Dense(units, activation)});
    model.compile({.optimizer = "sgd", .loss = loss});
  };
  expect_parts(error_of([&] { compile(1, "softmax", "binary_crossentropy"); }),
               {"softmax", "1 unit", "sigmoid"});
  expect_parts(error_of([&] { compile(1, "sigmoid", "categorical_crossentropy"); }),
               {"1 unit", "binary_crossentropy"});
}

// R32 (PL#1510): one long epoch of tiny steps with all metrics and the history on.
TEST(Cases, R32ManyTinySteps) {
  const Rows rows(20000, 2);
  Sequential model({Input({2}), Dense(1, "sigmoid")});
  model.compile({.optimizer = "sgd",
                 .loss = "binary_crossentropy",
                 .metrics = {"accuracy", "mae", metrics::AUC()}});
  int64_t early = 0;
  LambdaCallbackOptions watch;
  watch.on_train_batch_end = [&](int64_t batch, const Logs&) {
    if (batch == 2000) early = measured();
  };
  model.fit(rows.classes(), {.batch_size = 1, .callbacks = {LambdaCallback(watch)}, .verbose = 1});
  EXPECT_LE(measured() - early, 1_MiB);
}

// S13: labels that are no distribution are named; Keras trains on them.
TEST(Cases, S13LabelsThatAreNoDistribution) {
  const Rows rows(8, 4);
  std::vector<float> labels(8 * 3);
  for (size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<float>(i % 5);
  Sequential model({Input({4}), Dense(3, "softmax")});
  model.compile({.optimizer = "sgd", .loss = "categorical_crossentropy"});
  const LogText log;
  model.fit(data::arrays(rows.inputs(), Array(labels.data(), {8, 3})),
            {.shuffle = false, .verbose = 0});
  expect_parts(log.messages, {"row 0 adds up to 3", "one-hot"});
}

// The mistakes that a program makes, each with the place and the way out. (tests/cli: those of a
// run file.)
TEST(Mistakes, NameThePlaceAndTheWayOut) {
  if (kSanitized) GTEST_SKIP() << "budgets hold the sanitizer's memory too";
  const Rows rows(20, 8);
  const std::vector<int32_t> labels(20, 7);
  const auto fit = [&](int64_t features, int64_t units, const char* activation, const char* loss,
                       const SourcePtr& data) {
    Sequential model({Input({features}), Dense(units, activation)});
    model.compile({.optimizer = "sgd", .loss = loss});
    model.fit(data, {.verbose = 0});
  };
  const SourcePtr regression = rows.regression();
  const SourcePtr classes = data::arrays(rows.inputs(), Array(labels));
  using Parts = std::vector<std::string>;
  // An unknown word.
  expect_parts(error_of([&] { fit(8, 1, "rellu", "mse", regression); }),
               Parts{"\"rellu\"", "\"relu\""});
  expect_parts(error_of([&] { fit(8, 1, "relu", "msee", regression); }),
               Parts{"\"msee\"", "\"mse\""});
  // A file that is not there.
  expect_parts(error_of([&] { data::npy("nosuch.npy", "y.npy"); }), Parts{"nosuch.npy"});
  // A shape that does not fit.
  expect_parts(error_of([&] { fit(9, 1, "relu", "mse", regression); }),
               Parts{"x: ", "[8]", "[9]", "Input"});
  // A loss that does not fit the labels.
  expect_parts(error_of([&] { fit(8, 3, "sigmoid", "binary_crossentropy", regression); }),
               Parts{"binary_crossentropy", "[3]"});
  expect_parts(error_of([&] { fit(8, 3, "softmax", "sparse_categorical_crossentropy", classes); }),
               Parts{"label 7", "3 outputs", "0 to 2"});
  // A budget that is too small.
  Sequential wide({Input({8}), Dense(100000, "relu"), Dense(1)});
  wide.compile({.optimizer = "adam", .loss = "mse"});
  const std::string refusal =
      error_of([&] { wide.fit(regression, {.verbose = 0, .memory = 6_MiB}); });
  expect_parts(refusal, Parts{"the budget of 6.0 MiB", "the largest part is"});
  const size_t at = refusal.find("it fits with memory = ");
  ASSERT_NE(at, std::string::npos) << refusal;
  const std::string least = refusal.substr(at + 22, refusal.find("MiB", at) + 3 - at - 22);
  wide.fit(regression, {.verbose = 0, .memory = parse_bytes(least)});
  // A model that was not compiled.
  Sequential model({Input({8}), Dense(1)});
  expect_parts(error_of([&] { model.fit(regression); }), Parts{"compile"});
}

}  // namespace
}  // namespace snug::testing

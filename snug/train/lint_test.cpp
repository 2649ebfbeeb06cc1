// Mistakes in a model, in what it is compiled with and in the data are named before step 1.
#include "snug/train/lint.h"

#include <gtest/gtest.h>

#include <cmath>

#include "snug/base/error.h"
#include "snug/nn/merging.h"
#include "snug/nn/operators.h"
#include "snug/nn/shape_layers.h"
#include "snug/train/fit_testing.h"

namespace snug::testing {
namespace {

// What is thrown says all of these words.
template <typename Kind = Error, typename Call>
void expect_error(const Call& call, const std::vector<std::string>& words) {
  try {
    call();
    ADD_FAILURE() << "nothing was thrown; expected: " << words[0];
  } catch (const Kind& error) {
    for (const std::string& word : words) {
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos)
          << error.what() << "\nlacks: " << word;
    }
  }
}

void compile(Sequential model, const LossSpec& loss) { model.compile({.loss = loss}); }

Sequential ends_in(int64_t units, const char* activation) {
  return Sequential({Input({3}), Dense(units, activation)});
}

TEST(Lint, SoftmaxOnOneUnit) {
  expect_error([] { compile(ends_in(1, "softmax"), "binary_crossentropy"); },
               {"softmax over 1 unit", "sigmoid"});
}

TEST(Lint, CategoricalLossOnOneUnit) {
  expect_error([] { compile(ends_in(1, "sigmoid"), "sparse_categorical_crossentropy"); },
               {"has 1 unit", "binary_crossentropy"});
}

TEST(Lint, CrossentropyOfValuesThatAreNoProbabilities) {
  expect_error([] { compile(ends_in(3, "linear"), "sparse_categorical_crossentropy"); },
               {"no probabilities", "softmax", "from_logits"});
  expect_error([] { compile(ends_in(1, "relu"), "binary_crossentropy"); }, {"sigmoid"});
}

TEST(Lint, LogitsThatAreNone) {
  expect_error(
      [] { compile(ends_in(3, "softmax"), SparseCategoricalCrossentropy({.from_logits = true})); },
      {"softmax", "from_logits"});
}

TEST(Lint, LetsRightOnesThrough) {
  compile(ends_in(3, "softmax"), "sparse_categorical_crossentropy");
  compile(ends_in(3, "linear"), SparseCategoricalCrossentropy({.from_logits = true}));
  compile(ends_in(1, "sigmoid"), "binary_crossentropy");
  compile(ends_in(1, "linear"), "mse");
  compile(ends_in(1, "hard_sigmoid"), "binary_crossentropy");
}

// Probabilities need not come from an activation.
TEST(Lint, ProbabilitiesMadeOfOthers) {
  const Symbol x = Input({3});
  const Symbol a = Dense(2, "softmax")(x), b = Dense(2, "softmax")(x);
  for (const Symbol& mean : {Average()({a, b}), (a + b) / 2, Reshape({1, 2})(a)}) {
    Model model(x, mean);
    model.compile({.loss = "categorical_crossentropy"});
  }
  expect_error(
      [&] {
        Model(x, Reshape({2, 1})(Dense(2)(x))).compile({.loss = "binary_crossentropy"});
      },
      {"no probabilities"});
}

TEST(Mismatch, NotCompiled) {
  const Rows rows(4, 3);
  Sequential model = small_model(3);
  expect_error([&] { model.fit(rows.regression()); }, {"compile"});
}

TEST(Mismatch, NumberOfLosses) {
  Sequential model = small_model(3);
  expect_error(
      [&] {
        model.compile({.loss = std::vector<Loss>{"mse", "mae"}});
      },
      {"2 losses", "1 outputs"});
}

TEST(Mismatch, ShapeOfInputs) {
  const Rows rows(4, 5);
  Sequential model = regression_model(3);
  expect_error<ShapeError>([&] { model.fit(rows.regression()); }, {"x", "[5]", "[3]"});
}

TEST(Mismatch, NumberOfInputsAndTargets) {
  const Rows rows(4, 3);
  Sequential model = regression_model(3);
  expect_error(
      [&] {
        model.fit(data::arrays({.x = {rows.inputs(), rows.inputs()}, .y = {Array(rows.y)}}));
      },
      {"1 inputs", "2"});
  expect_error([&] { model.fit(data::arrays(rows.inputs())); }, {"no targets", "predict"});
}

TEST(Mismatch, TargetsAreNotBroadcast) {
  const Rows rows(4, 3);
  Sequential model({Input({3}), Dense(2)});
  model.compile({.loss = "mse"});
  expect_error([&] { model.fit(rows.regression(), {.verbose = 0}); }, {"2"});
}

TEST(Mismatch, LabelsBeyondTheHead) {
  Rows rows(8, 3);
  rows.label[5] = 2;
  Sequential model = ends_in(2, "softmax");
  model.compile({.loss = "sparse_categorical_crossentropy"});
  expect_error<DataError>([&] { model.fit(rows.classes(), {.shuffle = false, .verbose = 0}); },
                          {"row 5", "label 2", "2 outputs", "0 to 1"});
}

TEST(Mismatch, NaNInARow) {
  Rows rows(8, 3);
  rows.x[3 * 4 + 1] = std::nanf("");
  Sequential model = regression_model(3);
  for (const bool shuffle : {true, false}) {  // Copied to a slot, and read where it stands.
    expect_error<DataError>(
        [&] { model.fit(rows.regression(), {.shuffle = shuffle, .verbose = 0}); },
        {"row 4", "nan"});
  }
}

TEST(Options, AreChecked) {
  const Rows rows(8, 3);
  Sequential model = regression_model(3);
  const auto fit = [&](const FitOptions& options) {
    return [&, options] { model.fit(rows.regression(), options); };
  };
  expect_error(fit({.batch_size = 0}), {"batch_size is 0"});
  expect_error(fit({.epochs = -1}), {"epochs is -1"});
  expect_error(fit({.validation_split = 1}), {"validation_split is 1"});
  expect_error(fit({.validation_split = std::nan("")}), {"validation_split is nan"});
  expect_error(fit({.validation_split = 0.95}), {"validation_split 0.95", "both sides"});
  expect_error(fit({.validation_freq = 0}), {"validation_freq has 0"});
  expect_error(fit({.validation_freq = std::vector<int>()}), {"validation_freq is an empty list"});
  expect_error(fit({.steps_per_epoch = 0}), {"steps_per_epoch is 0"});
}

TEST(Options, ClassAndSampleWeightsTogether) {
  const Rows rows(8, 3);
  Sequential model = regression_model(3);
  expect_error(
      [&] {
        model.fit(data::arrays(
                      {.x = {rows.inputs()}, .y = {Array(rows.y)}, .sample_weight = Array(rows.y)}),
                  {.class_weight = {{0, 2.0}}});
      },
      {"class_weight", "sample weights"});
}

TEST(Options, BudgetThatIsTooSmall) {
  const Rows rows(8, 3);
  Sequential model = regression_model(3);
  expect_error<BudgetError>([&] { model.fit(rows.regression(), {.verbose = 0, .memory = 1024}); },
                            {"budget"});
}

TEST(Trainable, ChangedAfterCompile) {
  const Rows rows(8, 3);
  const Layer first = Dense(4, "tanh");
  Sequential model({Input({3}), first, Dense(1)});
  model.compile({.loss = "mse"});
  model.fit(rows.regression(), {.verbose = 0});
  first->trainable = false;
  expect_error([&] { model.fit(rows.regression(), {.verbose = 0}); }, {"compile again"});
}

}  // namespace
}  // namespace snug::testing

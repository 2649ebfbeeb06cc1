// Layers of a user's own that hold others: trained, saved and found again with them.
#include <gtest/gtest.h>

#include "snug/base/error.h"
#include "snug/data/source_testing.h"
#include "snug/ops/ops.h"
#include "snug/testing/composite_layer.h"
#include "snug/testing/temp_dir.h"
#include "snug/train/callbacks.h"
#include "snug/train/fit_testing.h"

namespace snug::testing {
namespace {

Sequential composite_model(bool lists_them = true) {
  const DenseOptions options{.activation = "tanh", .use_bias = false};
  const std::vector<Layer> inner = {Dense(3, options), Dense(3, options)};
  Sequential model({Input({3}), make_layer<Composite>(inner, lists_them), Dense(1)});
  model.compile({.optimizer = Adam(), .loss = "mse"});
  return model;
}

FitOptions options_of(int epochs, const Path& folder) {
  FitOptions options{.batch_size = 8, .epochs = epochs, .verbose = 0};
  options.checkpoint.directory = folder;
  options.resume = true;
  return options;
}

TEST(CompositeLayers, AreTrainedWithWhatTheyHold) {
  const Rows rows(32, 3);
  Sequential model = composite_model();
  EXPECT_EQ(model.trainable_variables().size(), 4u);
  const auto before = model.get_weights();
  EXPECT_NE(before[0], before[1]);
  model.fit(rows.regression(), {.verbose = 0});
  const auto after = model.get_weights();
  for (size_t i = 0; i < before.size(); ++i) EXPECT_NE(after[i], before[i]) << i;
}

TEST(CompositeLayers, GoOnFromACheckpoint) {
  const Rows rows(32, 3);
  const TempDir whole_folder, parts_folder;
  Sequential whole = composite_model();
  whole.fit(rows.regression(), options_of(4, whole_folder.path()));
  {
    Sequential first = composite_model();
    first.fit(rows.regression(), options_of(2, parts_folder.path()));
  }
  Sequential second = composite_model();
  second.fit(rows.regression(), options_of(4, parts_folder.path()));
  EXPECT_EQ(second.get_weights(), whole.get_weights());
}

TEST(CompositeLayers, ThatListNothingAreRefused) {
  const Rows rows(8, 3);
  Sequential model = composite_model(/*lists_them=*/false);
  EXPECT_EQ(message_of([&] { model.fit(rows.regression(), {.verbose = 0}); }),
            "fit: composite/Dense/matmul uses the weight kernel, which is none of the model's, so "
            "it would be neither trained nor saved; list the layer that has it in sublayers() of "
            "the layer that calls it, or make a weight with .trainable = false");
}

// Two weights of one name.
class Doubled final : public LayerDefinition {
 public:
  std::string_view class_name() const override { return "Doubled"; }
  void settings(SettingVisitor&) override {}
  void build(const Types& in) override {
    for (VariablePtr& weight : weights_)
      weight = add_weight({.name = "w", .type = {DType::float32, {in[0].shape[-1]}}});
  }
  Values call(Tracer& tracer, const Values& in) override {
    return {ops::add(ops::add(in[0], tracer.value(weights_[0])), tracer.value(weights_[1]))};
  }

 private:
  VariablePtr weights_[2];
};

TEST(CompositeLayers, ACheckpointKnowsWeightsByTheirNames) {
  const Rows rows(8, 3);
  const TempDir folder;
  Sequential model({Input({3}), make_layer<Doubled>(), Dense(1)});
  model.compile({.loss = "mse"});
  EXPECT_EQ(message_of([&] { model.fit(rows.regression(), options_of(1, folder.path())); }),
            "fit: two weights are called doubled/w, and a checkpoint knows them by their names; "
            "give each weight of a layer its own `name`");
}

}  // namespace
}  // namespace snug::testing

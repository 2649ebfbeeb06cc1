// For tests of budgets: models of every kind, trained for some steps on a plan.
#pragma once

#include <gtest/gtest.h>

#include "snug/exec/spill_file.h"
#include "snug/nn/activation_layers.h"
#include "snug/nn/convolution.h"
#include "snug/nn/dropout.h"
#include "snug/nn/embedding.h"
#include "snug/nn/merging.h"
#include "snug/nn/normalization.h"
#include "snug/nn/pooling.h"
#include "snug/nn/shape_layers.h"
#include "snug/ops/update_layout.h"
#include "snug/train/fit.h"
#include "snug/train/fit_testing.h"
#include "snug/train/runner.h"

namespace snug::testing {

inline constexpr int64_t kCount = 60, kBatch = 24;  // So that the last batch has 12 rows.
inline constexpr int kSteps = 20;

struct Case {
  std::string name;
  std::function<Model()> model;
  Optimizer optimizer;
  double tolerance;  // Of the weights, where micro-batches add up in another order.
  Shape row = {40};
  bool weighted = false;
  bool ids = false;  // Rows are words.
};

inline Symbol norm_conv(const Symbol& x, int64_t filters) {
  return ReLU()(
      BatchNormalization()(Conv2D(filters, {3, 3}, {.padding = "same", .use_bias = false})(x)));
}

inline Model residual_model() {
  const Symbol input = Input({8, 8, 3});
  Symbol x = norm_conv(input, 8);
  for (int block = 0; block < 3; ++block) x = Add()({norm_conv(norm_conv(x, 8), 8), x});
  return Model(input, Dense(3, "softmax")(GlobalAveragePooling2D()(x)));
}

inline Model hourglass_model() {
  const Symbol input = Input({8, 8, 3});
  const Symbol wide = Conv2D(8, {3, 3}, {.padding = "same", .activation = "relu"})(input);
  const Symbol deep =
      Conv2D(16, {3, 3}, {.padding = "same", .activation = "relu"})(MaxPooling2D()(wide));
  const Symbol up = Conv2DTranspose(8, {2, 2}, {.strides = {2, 2}})(deep);
  const Symbol joined = Concatenate()({up, wide});
  return Model(input, Dense(3, "softmax")(Flatten()(joined)));
}

inline std::vector<Layer> deep_layers(const std::function<void(std::vector<Layer>&)>& between) {
  std::vector<Layer> layers = {Input({40})};
  for (int i = 0; i < 5; ++i) {
    layers.push_back(Dense(48, i % 2 == 0 ? "relu" : "tanh"));
    between(layers);
  }
  layers.push_back(Dense(3, "softmax"));
  return layers;
}

inline Model images(const std::vector<Layer>& body) {
  std::vector<Layer> layers = {Input({8, 8, 3})};
  layers.insert(layers.end(), body.begin(), body.end());
  layers.push_back(Flatten());
  layers.push_back(Dense(3, "softmax"));
  return Sequential(layers);
}

inline std::vector<Case> cases() {
  const Shape image = {8, 8, 3};
  const auto plain = [] { return Sequential(deep_layers([](auto&) {})); };
  const auto dropped = [] {
    return Sequential(deep_layers([](auto& layers) { layers.push_back(Dropout(0.3)); }));
  };
  const auto normed = [] {
    return Sequential(deep_layers([](auto& l) { l.push_back(BatchNormalization()); }));
  };
  const auto layer_normed = [] {
    return Sequential(deep_layers([](auto& l) { l.push_back(LayerNormalization()); }));
  };
  const auto cnn = [] {
    return images({Conv2D(8, {3, 3}, {.activation = "relu"}), MaxPooling2D(),
                   Conv2D(16, {3, 3}, {.padding = "same", .activation = "relu"})});
  };
  const auto norm_cnn = [] {
    return images({Conv2D(8, {3, 3}), BatchNormalization(), ReLU(), Conv2D(8, {3, 3}),
                   BatchNormalization(), ReLU(), AveragePooling2D()});
  };
  const auto depthwise = [] {
    return images({DepthwiseConv2D({3, 3}, {.padding = "same"}), BatchNormalization(),
                   Conv2D(12, {1, 1}), BatchNormalization(), ReLU({.max_value = 6})});
  };
  const auto grouped = [] {
    return images({Conv2D(8, {3, 3}), GroupNormalization(4), ReLU(), Conv2D(8, {3, 3})});
  };
  const auto words = [] {
    return Sequential(
        {Input({40}), Embedding(60, 24), Flatten(), Dense(32, "relu"), Dense(3, "softmax")});
  };
  return {{"mlp, sgd", plain, SGD(), 1e-5},
          {"mlp, momentum and decay", plain, SGD({.momentum = 0.9, .weight_decay = 1e-3}), 1e-5},
          {"mlp with dropout, adamw, clipped", dropped, AdamW({.global_clipnorm = 0.5}), 1e-4},
          {"mlp, weighted rows, rmsprop", plain, RMSprop(), 1e-4, {40}, true},
          {"mlp with batch norm, sgd", normed, SGD(), 1e-5},
          {"mlp with layer norm, adam", layer_normed, Adam(), 1e-4},
          {"cnn, sgd", cnn, SGD({.learning_rate = 0.003}), 1e-5, image},
          {"cnn with batch norm, adam", norm_cnn, Adam(), 1e-4, image},
          {"depthwise, sgd", depthwise, SGD({.learning_rate = 0.003}), 1e-5, image},
          {"cnn with group norm, rmsprop", grouped, RMSprop(), 1e-4, image},
          {"residual, adam", residual_model, Adam(), 1e-4, image},
          {"hourglass, weighted, sgd", hourglass_model, SGD({.learning_rate = 0.003}), 1e-5, image,
           true},
          {"words, adam", words, Adam(), 1e-4, {40}, false, true}};
}

struct Outcome {
  std::vector<std::vector<float>> weights;
  std::vector<float> gradient;  // Of step 1, of all weights one after the other.
  float loss = 0;               // Of the last step.
  int64_t total_bytes = 0;
  bool cut = false;      // Into other parts than without a budget: sums have another order.
  bool by_node = false;  // On all rows, one node after the other.
  bool again = false;    // Something is computed again.
  bool fed = false;      // Rows are brought by the stages that read them.
  bool spilled = false;  // Values wait on the disk.
};

// A disk so fast that the planner takes it wherever something has to give.
inline constexpr DiskSpeed kFastDisk{.read = 1000, .write = 1000, .start_ns = 10, .drag = 0};

struct TrainingOptions {
  int64_t budget_bytes = kUnlimited;
  int threads = 2;
  bool reproducible = false;
  bool feed = true;
  bool spill = false;
};

class Training {
 public:
  Training(const Case& c, const TrainingOptions& options)
      : model_(c.model()), rows_(kCount, c.row.size()) {
    model_.compile({.optimizer = c.optimizer, .loss = "sparse_categorical_crossentropy"});
    model_.network().set_paths();
    const SourcePtr source = make_source(c);
    stager_.emplace(source,
                    StagerOptions{.range = {.count = kCount}, .batch_size = kBatch, .seed = 3});
    runner_ =
        std::make_unique<Runner>(training_step(model_.network(), model_.compiled(),
                                               target_types(*source, model_.network(), c.weighted)),
                                 stager_->batch_rows(),
                                 RunnerOptions{.target = {.threads = options.threads},
                                               .feed_inputs = options.feed,
                                               .reproducible = options.reproducible,
                                               .budget_bytes = options.budget_bytes,
                                               .costs = CostModel{.disk = kFastDisk},
                                               .spill = {.allowed = options.spill}});
    allocate(model_.weights(), 7);
    allocate(model_.compiled().slots(), 7);
    Variables state;
    for (const auto& [variable, value] : runner_->step().variables) state.push_back(variable);
    allocate(state, 7);
    arena_ = Arena(runner_->arena_bytes());
    if (runner_->file_bytes() > 0)
      file_.emplace(real_files(), spill_folder(real_files(), {}), runner_->file_bytes());
    runner_->bind(arena_.data(), file_ ? &file_->queue() : nullptr);
  }

  Outcome run(Program::Mode mode = Program::Mode::plain) {
    Outcome outcome;
    int done = 0;
    for (uint64_t pass = 0; done < kSteps; ++pass) {
      stager_->begin_pass(pass);
      while (const auto batch = done < kSteps ? stager_->next(*runner_) : std::nullopt) {
        feed_learning_rates(runner_->step(), *batch->program);
        batch->program->compute(batch->info, mode);
        if (done == 0) outcome.gradient = gradient(*batch->program);
        outcome.loss = batch->program->tensor(runner_->step().loss).as<float>()[0];
        batch->program->commit(batch->info, mode);
        ++done;
      }
    }
    const Program& program = *runner_->programs()[0];
    outcome.weights = model_.get_weights();
    outcome.total_bytes = program.plan().total_bytes();
    for (const PartitionOptions& cut : runner_->cuts()) {
      outcome.by_node |= !cut.parts;
      outcome.cut |= cut.forced_part_rows > 0 || !cut.parts;
    }
    outcome.again = program.plan().steps.size() > program.problem().nodes.size();
    outcome.fed = program.tensor(runner_->step().inputs[0]).data == nullptr;
    outcome.spilled = !program.plan().transfers.empty();
    return outcome;
  }

 private:
  SourcePtr make_source(const Case& c) {
    Shape shape = {kCount};
    for (int i = 0; i < c.row.rank(); ++i) shape.push_back(c.row[i]);
    for (int64_t i = 0; i < kCount; ++i) {
      labels_.push_back(static_cast<int32_t>(i * 7 % 3));
      weights_.push_back(0.25F * static_cast<float>(1 + i % 5));
    }
    for (const float x : rows_.x) words_.push_back(static_cast<int32_t>((x + 1) * 29));
    data::ArraysOptions arrays{.x = {Array(rows_.x.data(), shape)}, .y = {Array(labels_)}};
    if (c.ids) arrays.x = {Array(words_.data(), shape)};
    if (c.weighted) arrays.sample_weight = Array(weights_);
    return data::arrays(arrays);
  }

  // Dense ones only: what is a list of rows has another order.
  std::vector<float> gradient(const Program& program) {
    std::vector<float> all;
    const Node& node = *runner_->step().updates[0].nodes.reach.producer();
    for (const ops::UpdatePlace& place : ops::update_layout(node.op())->places) {
      const Value value = node.input(place.gradient);
      if (place.rows) continue;
      const auto* data = static_cast<const float*>(program.pending(value));
      EXPECT_NE(data, nullptr) << value.name();
      if (data != nullptr) all.insert(all.end(), data, data + value.type().shape.size());
    }
    return all;
  }

  Model model_;
  Rows rows_;
  std::vector<int32_t> labels_, words_;
  std::vector<float> weights_;
  std::optional<Stager> stager_;
  Arena arena_;
  std::optional<SpillFile> file_;
  std::unique_ptr<Runner> runner_;
};

inline int64_t least_budget_of(const Case& c, TrainingOptions options = {}) {
  options.budget_bytes = 1;
  try {
    Training(c, options);
  } catch (const StepBudgetError& error) {
    return error.least_bytes();
  }
  ADD_FAILURE() << c.name << ": a budget of one byte was held";
  return 0;
}

}  // namespace snug::testing

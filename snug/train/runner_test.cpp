// The same result at every budget: models trained with all the memory they want, and with less and
// less down to the least that works.
#include "snug/train/runner.h"

#include <gtest/gtest.h>

#include <cmath>

#include "snug/nn/activation_layers.h"
#include "snug/nn/convolution.h"
#include "snug/nn/dropout.h"
#include "snug/nn/merging.h"
#include "snug/nn/normalization.h"
#include "snug/nn/pooling.h"
#include "snug/nn/shape_layers.h"
#include "snug/train/fit.h"
#include "snug/train/fit_testing.h"

namespace snug::testing {
namespace {

constexpr int64_t kCount = 60, kBatch = 24;  // So that the last batch has 12 rows.
constexpr int kSteps = 20;

struct Case {
  std::string name;
  std::function<Model()> model;
  Optimizer optimizer;
  double tolerance;  // Of the weights, where micro-batches add up in another order.
  Shape row = {40};
  bool weighted = false;
};

Symbol norm_conv(const Symbol& x, int64_t filters) {
  return ReLU()(
      BatchNormalization()(Conv2D(filters, {3, 3}, {.padding = "same", .use_bias = false})(x)));
}

Model residual_model() {
  const Symbol input = Input({8, 8, 3});
  Symbol x = norm_conv(input, 8);
  for (int block = 0; block < 3; ++block) x = Add()({norm_conv(norm_conv(x, 8), 8), x});
  return Model(input, Dense(3, "softmax")(GlobalAveragePooling2D()(x)));
}

Model hourglass_model() {
  const Symbol input = Input({8, 8, 3});
  const Symbol wide = Conv2D(8, {3, 3}, {.padding = "same", .activation = "relu"})(input);
  const Symbol deep =
      Conv2D(16, {3, 3}, {.padding = "same", .activation = "relu"})(MaxPooling2D()(wide));
  const Symbol up = Conv2DTranspose(8, {2, 2}, {.strides = {2, 2}})(deep);
  const Symbol joined = Concatenate()({up, wide});
  return Model(input, Dense(3, "softmax")(Flatten()(joined)));
}

std::vector<Layer> deep_layers(const std::function<void(std::vector<Layer>&)>& between) {
  std::vector<Layer> layers = {Input({40})};
  for (int i = 0; i < 5; ++i) {
    layers.push_back(Dense(48, i % 2 == 0 ? "relu" : "tanh"));
    between(layers);
  }
  layers.push_back(Dense(3, "softmax"));
  return layers;
}

Model images(const std::vector<Layer>& body) {
  std::vector<Layer> layers = {Input({8, 8, 3})};
  layers.insert(layers.end(), body.begin(), body.end());
  layers.push_back(Flatten());
  layers.push_back(Dense(3, "softmax"));
  return Sequential(layers);
}

std::vector<Case> cases() {
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
           true}};
}

struct Outcome {
  std::vector<std::vector<float>> weights;
  int64_t total_bytes = 0;
  bool cut = false;    // Into micro-batches.
  bool again = false;  // Something is computed again.
};

class Training {
 public:
  Training(const Case& c, int64_t budget_bytes) : model_(c.model()), rows_(kCount, c.row.size()) {
    model_.compile({.optimizer = c.optimizer, .loss = "sparse_categorical_crossentropy"});
    model_.network().set_paths();
    Shape shape = {kCount};
    for (int i = 0; i < c.row.rank(); ++i) shape.push_back(c.row[i]);
    for (int64_t i = 0; i < kCount; ++i) {
      labels_.push_back(static_cast<int32_t>(i * 7 % 3));
      weights_.push_back(0.25F * static_cast<float>(1 + i % 5));
    }
    data::ArraysOptions arrays{.x = {Array(rows_.x.data(), shape)}, .y = {Array(labels_)}};
    if (c.weighted) arrays.sample_weight = Array(weights_);
    const SourcePtr source = data::arrays(arrays);
    stager_.emplace(source,
                    StagerOptions{.range = {.count = kCount}, .batch_size = kBatch, .seed = 3});
    runner_ = std::make_unique<Runner>(
        training_step(model_.network(), model_.compiled(),
                      target_types(*source, model_.network(), c.weighted)),
        stager_->batch_rows(),
        RunnerOptions{
            .target = {.threads = 2}, .budget_bytes = budget_bytes, .costs = CostModel{}});
    allocate(model_.weights(), 7);
    allocate(model_.compiled().slots(), 7);
    Variables state;
    for (const auto& [variable, value] : runner_->step().variables) state.push_back(variable);
    allocate(state, 7);
    arena_ = Arena(runner_->arena_bytes());
    runner_->bind(arena_.data());
  }

  Outcome run(Program::Mode mode) {
    int done = 0;
    for (uint64_t pass = 0; done < kSteps; ++pass) {
      stager_->begin_pass(pass);
      while (const auto batch = done < kSteps ? stager_->next(*runner_) : std::nullopt) {
        feed_learning_rates(runner_->step(), *batch->program);
        batch->program->run(batch->info, mode);
        ++done;
      }
    }
    const Program& program = *runner_->programs()[0];
    Outcome outcome{model_.get_weights(), program.plan().total_bytes()};
    outcome.cut = runner_->cuts()[0].forced_part_rows > 0;
    outcome.again = program.plan().steps.size() > program.problem().nodes.size();
    return outcome;
  }

 private:
  Model model_;
  Rows rows_;
  std::vector<int32_t> labels_;
  std::vector<float> weights_;
  std::optional<Stager> stager_;
  std::unique_ptr<Runner> runner_;
  Arena arena_;
};

int64_t least_budget_of(const Case& c) {
  try {
    Training(c, 1);
  } catch (const StepBudgetError& error) {
    return error.least_bytes();
  }
  ADD_FAILURE() << c.name << ": a budget of one byte was held";
  return 0;
}

void expect_near(const Outcome& a, const Outcome& b, double tolerance) {
  float largest = 0;
  for (const auto& weights : a.weights) {
    for (const float weight : weights) largest = std::max(largest, std::abs(weight));
  }
  for (size_t i = 0; i < a.weights.size(); ++i) {
    for (size_t j = 0; j < a.weights[i].size(); ++j) {
      ASSERT_NEAR(a.weights[i][j], b.weights[i][j], tolerance * largest);
    }
  }
}

TEST(Budget, DoesNotChangeTheResult) {
  int cut = 0, again = 0;
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    const Outcome free = Training(c, kUnlimited).run(Program::Mode::plain);
    const int64_t least = least_budget_of(c);
    ASSERT_LE(least, free.total_bytes);
    for (const double share : {0.0, 0.1, 0.25, 0.5, 0.8}) {
      const auto budget =
          least + static_cast<int64_t>(share * static_cast<double>(free.total_bytes - least));
      SCOPED_TRACE(fmt::format("budget {} of {}..{}", budget, least, free.total_bytes));
      const bool checked = share == 0.25 && c.row.rank() == 1;
      const Program::Mode mode = checked ? Program::Mode::checked : Program::Mode::plain;
      const Outcome tight = Training(c, budget).run(mode);
      EXPECT_LE(tight.total_bytes, budget);
      cut += tight.cut;
      again += tight.again;
      if (tight.cut) {
        expect_near(free, tight, c.tolerance);
      } else {
        EXPECT_EQ(free.weights, tight.weights);
      }
    }
  }
  EXPECT_GT(cut, 5) << "too few micro-batches to be a test of them";
  EXPECT_GT(again, 5) << "too little is computed again to be a test of it";
}

TEST(Budget, TheLeastThatIsNamedIsTheLeast) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name);
    const int64_t least = least_budget_of(c);
    EXPECT_NO_THROW(Training(c, least));
    EXPECT_THROW(Training(c, least * 98 / 100), StepBudgetError);
  }
}

}  // namespace
}  // namespace snug::testing

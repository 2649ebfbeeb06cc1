// Numbers go wrong in every kind of node: nothing of it is committed, and the node and the row are
// named. The long form: SNUG_FAULTS=5000 train_test --gtest_filter='Faults.*'
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <random>
#include <set>

#include "snug/base/error.h"
#include "snug/data/generator.h"
#include "snug/data/source_testing.h"
#include "snug/exec/spill_file.h"
#include "snug/nn/activation_layers.h"
#include "snug/nn/convolution.h"
#include "snug/nn/dropout.h"
#include "snug/nn/embedding.h"
#include "snug/nn/merging.h"
#include "snug/nn/normalization.h"
#include "snug/nn/pooling.h"
#include "snug/nn/shape_layers.h"
#include "snug/testing/sanitized.h"
#include "snug/train/callbacks.h"
#include "snug/train/faulty_op_testing.h"
#include "snug/train/fit.h"
#include "snug/train/fit_testing.h"
#include "snug/train/state_bytes.h"
#include "snug/train/state_numbers.h"

namespace snug::testing {
namespace {

constexpr int64_t kCount = 22, kBatch = 8;  // So that the last batch has 6 rows.

int64_t fault_count() {
  const char* count = std::getenv("SNUG_FAULTS");
  if (count != nullptr) return std::atoll(count);
  return kThreadSanitized ? 40 : kSanitized ? 100 : 500;
}

struct Case {
  std::function<Model()> model;
  Shape row;
  bool has_words = false;
};

// Together they have nearly every op that a training step can have.
std::vector<Case> cases() {
  const auto mlp = [] {
    return Sequential({Input({6}), GaussianNoise(0.1), Dense(8, "relu"), BatchNormalization(),
                       Dropout(0.2), Dense(7, "gelu"), LayerNormalization(), Dense(6, "elu"),
                       Dense(5, "softplus"), LeakyReLU(), PReLU(), Dense(3, "softmax")});
  };
  const auto cnn = [] {
    return Sequential(
        {Input({6, 6, 2}), Conv2D(4, {3, 3}, {.padding = "same", .activation = "relu"}),
         BatchNormalization(), MaxPooling2D(), DepthwiseConv2D({3, 3}, {.padding = "same"}), ReLU(),
         AveragePooling2D(), GroupNormalization(2), Flatten(), Dense(3, "softmax")});
  };
  const auto hourglass = [] {
    const Symbol input = Input({6, 6, 2});
    const Symbol wide = Conv2D(4, {3, 3}, {.padding = "same", .activation = "tanh"})(input);
    const Symbol up = Conv2DTranspose(4, {2, 2}, {.strides = {2, 2}})(MaxPooling2D()(wide));
    const Symbol joined = Concatenate()({up, wide, ZeroPadding2D(1)(Conv2D(2, {3, 3})(input))});
    const Symbol summed = Add()({GlobalAveragePooling2D()(joined), GlobalMaxPooling2D()(joined)});
    return Model(input, Dense(3, "softmax")(summed));
  };
  const auto words = [] {
    return Sequential({Input({6}), Embedding(10, 4), GlobalAveragePooling1D(), Dense(4, "sigmoid"),
                       Dense(3, "softmax")});
  };
  // Whose values are worth a way to the disk.
  const auto wide = [] {
    std::vector<Layer> layers = {Input({16, 16, 4})};
    for (int i = 0; i < 3; ++i) {
      layers.push_back(Conv2D(8, {3, 3}, {.padding = "same", .activation = "tanh"}));
      layers.push_back(BatchNormalization());
    }
    layers.push_back(GlobalAveragePooling2D());
    layers.push_back(Dense(3, "softmax"));
    return Sequential(layers);
  };
  return {{mlp, {6}},
          {cnn, {6, 6, 2}},
          {hourglass, {6, 6, 2}},
          {words, {6}, true},
          {wide, {16, 16, 4}}};
}

Optimizer optimizer_of(uint64_t number) {
  const Optimizer all[] = {Adam(),
                           SGD({.momentum = 0.9, .nesterov = true}),
                           RMSprop({.momentum = 0.5, .centered = true}),
                           Adagrad(),
                           Adadelta(),
                           Adamax(),
                           Nadam(),
                           Lion(),
                           AdamW(),
                           SGD({.clipnorm = 1}),
                           Adam({.global_clipnorm = 1}),
                           Adam({.amsgrad = true, .clipvalue = 1}),
                           SGD({.weight_decay = 1e-2}),
                           Adam({.lazy = true}),
                           SGD({.momentum = 0.9, .use_ema = true, .ema_overwrite_frequency = 2}),
                           Adam({.use_ema = true})};
  return all[number % std::size(all)];
}

// Trains as fit does, with one node of the step struck.
class StruckRun {
 public:
  StruckRun(const Case& c, std::mt19937_64& random)
      : model_(c.model()), rows_(kCount, c.row.size(), random()) {
    model_.compile({.optimizer = optimizer_of(random()),
                    .loss = "sparse_categorical_crossentropy",
                    .metrics = {"accuracy"}});
    model_.network().set_paths();
    if (c.has_words) {
      for (float& x : rows_.x) x = std::floor(4.9F * (x + 1));
    }
    Shape shape = {kCount};
    for (int i = 0; i < c.row.rank(); ++i) shape.push_back(c.row[i]);
    for (int64_t i = 0; i < kCount; ++i) labels_.push_back(static_cast<int32_t>(random() % 3));
    source_ = data::arrays(
        data::ArraysOptions{.x = {Array(rows_.x.data(), shape)}, .y = {Array(labels_)}});
    stager_.emplace(
        source_,
        StagerOptions{
            .range = {.count = kCount}, .batch_size = kBatch, .shuffle = true, .seed = random()});
  }

  // Replaces a random node that computes floats. The graph that it was in must stay: values point
  // to it.
  void strike(std::mt19937_64& random, float value) {
    const RunnerOptions options = some_way(random);
    StepGraph step = fresh_step();
    fault_ = {.epoch = random() % 2,
              .position = static_cast<int64_t>(random() % kCount),
              .batch_rows = 0,
              .value = value};
    const int64_t first = fault_.position / kBatch * kBatch;
    fault_.batch_rows = std::min(kBatch, kCount - first);
    std::vector<const Node*> nodes = step.graph->nodes();
    size_t at = 0;
    do {
      at = random() % nodes.size();
    } while (!FaultyOp::can_strike(*nodes[at]));
    const Node& node = *nodes[at];
    label_ = node.label();
    op_ = node.op().name();
    // Those of a table's gradient are not the data's.
    has_rows_ = node.output().shape().has_rows() && !node.op().traits().row_gradient;
    struck_ =
        std::make_unique<Node>(*step.graph, node.id(), std::make_shared<FaultyOp>(node, fault_),
                               node.in(), node.out(), node.scope());
    nodes[at] = struck_.get();
    old_ = std::move(step.graph);
    step.graph = old_->with_nodes(nodes);
    runner_ = std::make_unique<Runner>(std::move(step), stager_->batch_rows(), options);
    bind();
  }

  // How it runs.
  struct Ways {
    bool cut = false, again = false, fed = false, spilled = false, reproducible = false;
  };
  Ways ways() const {
    const Program& program = *runner_->programs()[0];
    Ways ways{.reproducible = reproducible_};
    for (const PartitionOptions& cut : runner_->cuts())
      ways.cut |= cut.forced_part_rows > 0 || !cut.parts;
    ways.again = program.plan().steps.size() > program.problem().nodes.size();
    ways.fed = program.tensor(runner_->step().inputs[0]).data == nullptr;
    ways.spilled = !program.plan().transfers.empty();
    return ways;
  }

  // The guard's message; empty where the fault did no harm.
  std::string run() {
    for (uint64_t pass = 0; pass < 3; ++pass) {
      stager_->begin_pass(pass);
      guard_->begin_epoch(false);
      for (int64_t step = 0;; ++step) {
        const auto batch = stager_->next(*runner_);
        if (!batch) break;
        const auto before = state();
        try {
          guard_->run(*batch, *stager_, static_cast<int>(pass), step);
        } catch (const NumericsError& error) {
          EXPECT_EQ(state(), before) << "something was committed";
          EXPECT_EQ(pass, fault_.epoch);
          EXPECT_EQ(step, fault_.position / kBatch);
          row_ = stager_->row_numbers()[fault_.position % kBatch];
          return error.what();
        }
        expect_finite();
        expect_listed();
      }
    }
    return "";
  }

  const std::string& label() const { return label_; }
  const std::string& op() const { return op_; }
  bool has_rows() const { return has_rows_; }
  int64_t row() const { return row_; }

 private:
  StepGraph fresh_step() {
    return training_step(model_.network(), model_.compiled(),
                         target_types(*source_, model_.network(), /*weighted=*/false));
  }

  // Half of the steps run as they like, the others within a budget near their least: in parts, with
  // values computed again or on the disk, with rows that are brought while they run.
  RunnerOptions some_way(std::mt19937_64& random) {
    constexpr DiskSpeed kFastDisk{.read = 1000, .write = 1000, .start_ns = 10, .drag = 0};
    reproducible_ = random() % 4 == 0;
    RunnerOptions options{.target = {.threads = 1 + static_cast<int>(random() % 2)},
                          .feed_inputs = random() % 2 == 0,
                          .reproducible = reproducible_,
                          .costs = CostModel{.disk = kFastDisk},
                          .spill = {.allowed = random() % 2 == 0}};
    const auto near = static_cast<int64_t>(random() % 4);
    if (random() % 2 == 0) return options;
    const auto rows = stager_->batch_rows();
    const int64_t most = Runner(fresh_step(), rows, options).programs()[0]->plan().total_bytes();
    options.budget_bytes = 1;
    try {
      Runner(fresh_step(), rows, options);
    } catch (const StepBudgetError& error) {
      options.budget_bytes = error.least_bytes() + near * (most - error.least_bytes()) / 4;
    }
    return options;
  }

  void bind() {
    Variables state;
    for (const auto& [variable, known] : runner_->step().variables) state.push_back(variable);
    allocate(state, 7);
    arena_ = Arena(runner_->arena_bytes());
    if (runner_->file_bytes() > 0)
      file_.emplace(real_files(), spill_folder(real_files(), {}), runner_->file_bytes());
    runner_->bind(arena_.data(), file_ ? &file_->queue() : nullptr);
    guard_.emplace(model_.compiled(), *runner_, GuardOptions{});
    listed_ = {{"guard", numbers_.add(0, [&](StateVisitor& v) { guard_->state(v); })}};
  }

  // A save that copies the guard's numbers by their addresses finds what a visit finds.
  void expect_listed() {
    StateWriter visited;
    guard_->state(visited);
    numbers_.take();
    numbers_.put_into(listed_);
    EXPECT_EQ(listed_[0].bytes, visited.take());
  }

  std::vector<std::vector<std::byte>> state() const {
    std::vector<std::vector<std::byte>> all;
    for (const auto& [variable, value] : runner_->step().variables) {
      const Tensor tensor = variable->tensor();
      const auto* bytes = static_cast<const std::byte*>(tensor.data);
      all.emplace_back(bytes, bytes + tensor.bytes());
    }
    return all;
  }
  void expect_finite() const {
    for (const auto& [variable, value] : runner_->step().variables) {
      if (variable->type().dtype != DType::float32) continue;
      for (const float number : variable->tensor().as<float>()) ASSERT_TRUE(std::isfinite(number));
    }
  }

  Model model_;
  Rows rows_;
  std::vector<int32_t> labels_;
  SourcePtr source_;
  std::optional<Stager> stager_;
  std::shared_ptr<Graph> old_;
  std::unique_ptr<Node> struck_;
  std::unique_ptr<Runner> runner_;
  Arena arena_;
  std::optional<SpillFile> file_;
  bool reproducible_ = false;
  std::optional<FitGuard> guard_;
  StateNumbers numbers_;  // Of the guard.
  std::vector<CheckpointSection> listed_;
  NodeFault fault_;
  std::string label_, op_;
  bool has_rows_ = false;
  int64_t row_ = -1;
};

TEST(Faults, InEveryKindOfNodeAreNotCommitted) {
  const float values[] = {NAN, INFINITY, -INFINITY, 3e38F, -1e30F, 1e20F};
  const std::vector<Case> all = cases();
  std::set<std::string> struck, named;
  int64_t stopped = 0;
  int64_t cut = 0, again = 0, fed = 0, spilled = 0, reproducible = 0;
  // One in fifty spills: of few, some more are made until one has.
  const auto goes_on = [&](int64_t seed) {
    return seed < fault_count() || (spilled == 0 && seed < 500);
  };
  for (int64_t seed = 0; goes_on(seed); ++seed) {
    std::mt19937_64 random(static_cast<uint64_t>(seed));
    const float value = values[random() % std::size(values)];
    StruckRun run(all[random() % all.size()], random);
    run.strike(random, value);
    const std::string message = run.run();
    struck.insert(run.op());
    const StruckRun::Ways ways = run.ways();
    cut += ways.cut;
    again += ways.again;
    fed += ways.fed;
    spilled += ways.spilled;
    reproducible += ways.reproducible;
    if (HasFailure()) FAIL() << "seed " << seed << ", " << run.label() << ": " << message;
    if (message.empty()) continue;
    ++stopped;
    if (std::isfinite(value)) continue;
    named.insert(run.op());
    expect_within(message, run.label() + " gave " +
                               (std::isnan(value) ? "nan"
                                : value > 0       ? "inf"
                                                  : "-inf"));
    if (run.has_rows()) expect_within(message, fmt::format("for row {} of the data", run.row()));
    if (HasFailure()) FAIL() << "seed " << seed << ", " << run.label() << ": " << message;
  }
  RecordProperty("ops", static_cast<int>(struck.size()));
  fmt::print("{} of {} faults stopped the run; {} kinds of nodes were struck, {} named\n", stopped,
             fault_count(), struck.size(), named.size());
  fmt::print(
      "{} ran in parts of a budget, {} computed again, {} brought rows, {} spilled, {} were "
      "reproducible\n",
      cut, again, fed, spilled, reproducible);
  for (const int64_t count : {cut, again, fed, spilled, reproducible}) EXPECT_GT(count, 0);
  EXPECT_GT(stopped, fault_count() / 3);
  if (fault_count() >= 500) {
    EXPECT_GT(struck.size(), 30);
  }
}

// Rates that make no sense, and rates that overflow what they are multiplied with.
TEST(Faults, InTheUpdateAreNotCommitted) {
  const Rows rows(40, 3);
  const float rates[] = {NAN, INFINITY, -INFINITY, 3e38F, -1e38F};
  for (uint64_t number = 0; number < 16 * std::size(rates); ++number) {
    Sequential model = small_model(3);
    const Optimizer optimizer = optimizer_of(number / std::size(rates));
    model.compile({.optimizer = optimizer, .loss = "mse"});
    std::vector<std::vector<float>> before;
    int64_t steps = 0;
    const auto spoil = LambdaCallback({.on_train_batch_begin = [&](int64_t) {
      before = model.get_weights();
      if (++steps == 7) optimizer->set_learning_rate(double{rates[number % std::size(rates)]});
    }});
    try {
      model.fit(rows.regression(),
                {.batch_size = 8, .epochs = 3, .callbacks = {spoil}, .verbose = 0});
    } catch (const NumericsError& error) {
      expect_within(error.what(), "step ");
      EXPECT_EQ(model.get_weights(), before) << number;
    } catch (const Error& error) {
      expect_within(error.what(), "learning_rate");
    }
    for (const auto& weight : model.get_weights()) {
      for (const float value : weight) ASSERT_TRUE(std::isfinite(value)) << number;
    }
  }
}

// One bad number in the data, of any kind of source, is named with its row.
TEST(Faults, InTheDataAreNamedByTheirRow) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    std::mt19937_64 random(seed);
    Rows rows(40, 3, seed);
    const auto row = static_cast<int64_t>(random() % 40);
    const float values[] = {NAN, INFINITY, -INFINITY};
    const bool target = random() % 3 == 0;
    (target ? rows.y[row] : rows.x[row * 3 + random() % 3]) = values[random() % 3];
    const bool generated = random() % 2 == 0;
    const auto next = std::make_shared<int64_t>(0);
    const SourcePtr source =
        generated ? data::generator(
                        [next, rows](std::span<const Tensor> slots) -> int64_t {
                          if (*next >= 40) return 0;
                          std::copy_n(&rows.x[*next * 3], 3, slots[0].as<float>().data());
                          slots[1].as<float>()[0] = rows.y[(*next)++];
                          return 1;
                        },
                        {.x = Shape{3}, .y = Shape{}, .restart = [next] { *next = 0; }})
                  : rows.regression();
    Sequential model({Input({3}), Dense(16, "relu"), Dense(1)});
    model.compile({.optimizer = Adam(), .loss = "mse"});
    const std::string message = message_of<Error>(
        [&] { model.fit(source, {.batch_size = 8, .epochs = 2, .verbose = 0, .seed = seed}); });
    expect_within(message, fmt::format("row {}", row));
    for (const auto& weight : model.get_weights()) {
      for (const float value : weight) ASSERT_TRUE(std::isfinite(value)) << seed;
    }
    if (HasFailure()) FAIL() << "seed " << seed << ": " << message;
  }
}

}  // namespace
}  // namespace snug::testing

// The events of a fit, read back record by record.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "snug/base/error.h"
#include "snug/data/arrays.h"
#include "snug/interop/event_file.h"
#include "snug/interop/keras_file.h"
#include "snug/nn/dense.h"
#include "snug/nn/operators.h"
#include "snug/testing/faulty_file.h"
#include "snug/testing/memory_files.h"
#include "snug/train/callbacks.h"
#include "snug/train/fit_testing.h"
#include "snug/train/model.h"
#include "snug/train/poison_testing.h"
#include "snug/train/run_log.h"

namespace snug::testing {
namespace {

struct Scalar {
  std::string tag;
  int64_t step = 0;
  float value = 0;
};

// One field of a protobuf message: its number and its bytes or number.
struct FieldOf {
  int number = 0;
  uint64_t value = 0;
  std::string bytes;
};

uint64_t varint(std::string_view& text) {
  uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = static_cast<uint8_t>(text[0]);
    text.remove_prefix(1);
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
}

std::vector<FieldOf> fields(std::string_view text) {
  std::vector<FieldOf> found;
  while (!text.empty()) {
    const uint64_t key = varint(text);
    FieldOf field{.number = static_cast<int>(key >> 3), .value = 0, .bytes = {}};
    if ((key & 7) == 0) {
      field.value = varint(text);
    } else {
      const size_t size = (key & 7) == 1 ? 8 : varint(text);
      field.bytes = text.substr(0, size);
      text.remove_prefix(size);
    }
    found.push_back(std::move(field));
  }
  return found;
}

std::string bytes_at(std::string_view message, int number) {
  for (const FieldOf& field : fields(message)) {
    if (field.number == number) return field.bytes;
  }
  return {};
}

// The events of the only file of a folder, each record checked against its checksum.
std::vector<std::string> events(FileSystem& files, const Path& folder) {
  const std::vector<std::string> names = files.list(folder);
  EXPECT_EQ(names.size(), 1);
  std::string text = read_text(files, folder / names.at(0));
  std::vector<std::string> found;
  while (!text.empty()) {
    uint64_t length = 0;
    std::memcpy(&length, text.data(), 8);
    found.push_back(text.substr(12, length));
    EXPECT_EQ(text.substr(0, length + 16), tf_record(found.back()));
    text = text.substr(length + 16);
  }
  return found;
}

std::vector<Scalar> scalars(FileSystem& files, const Path& folder) {
  std::vector<Scalar> found;
  for (const std::string& event : events(files, folder)) {
    const std::string value = bytes_at(bytes_at(event, 5), 1);
    if (value.empty() || value.find("scalars") == std::string::npos) continue;
    Scalar scalar{.tag = bytes_at(value, 1)};
    for (const FieldOf& field : fields(event)) {
      if (field.number == 2) scalar.step = static_cast<int64_t>(field.value);
    }
    std::memcpy(&scalar.value, bytes_at(bytes_at(value, 8), 5).data(), sizeof(float));
    found.push_back(scalar);
  }
  return found;
}

std::vector<std::string> tags(const std::vector<Scalar>& scalars, int64_t step) {
  std::vector<std::string> found;
  for (const Scalar& scalar : scalars) {
    if (scalar.step == step) found.push_back(scalar.tag);
  }
  return found;
}

struct Fit {
  explicit Fit(const TensorBoardOptions& board, bool validates = false,
               const std::string& name = "net") {
    const SourcePtr data = data::arrays(
        {.x = {snug::Array(x.data(), Shape{4, 2})}, .y = {snug::Array(y.data(), Shape{4, 1})}});
    Sequential model({Input({2}), Dense(1)}, name);
    model.compile({.optimizer = SGD(), .loss = "mse", .metrics = {"mae"}});
    FitOptions options{.batch_size = 2,
                       .epochs = 3,
                       .callbacks = {TensorBoard("logs", board, files)},
                       .verbose = 0};
    if (validates) options.validation_data = data;
    history = model.fit(data, options);
  }
  std::vector<float> x = {1, 2, 3, 4, 5, 6, 7, 8}, y = {1, 2, 3, 4};
  MemoryFiles files;
  History history;
};

TEST(TensorBoard, WritesTheScalarsOfEveryEpoch) {
  Fit fit({});
  const std::vector<Scalar> written = scalars(fit.files, "logs/train");
  for (int64_t epoch = 0; epoch < 3; ++epoch) {
    EXPECT_EQ(tags(written, epoch),
              (std::vector<std::string>{"epoch_loss", "epoch_mae", "epoch_learning_rate",
                                        "epoch_step_seconds", "epoch_resident_bytes",
                                        "epoch_gradient_norm", "epoch_skipped_rows"}));
  }
  EXPECT_FLOAT_EQ(written[0].value, static_cast<float>(fit.history.history.at("loss")[0]));
  EXPECT_FLOAT_EQ(written[2].value, 0.01f);
  EXPECT_GT(written[4].value, 1e6f);
}

// One weight, full batches: by hand. The loss is (w x - y)^2 over the rows, w = 0 at first.
TEST(TensorBoard, WritesTheNormOfTheGradient) {
  std::vector<float> x = {1, 2}, y = {3, 4};
  const SourcePtr data = data::arrays(
      {.x = {snug::Array(x.data(), Shape{2, 1})}, .y = {snug::Array(y.data(), Shape{2, 1})}});
  Sequential model({Input({1}), Dense(1, {.use_bias = false, .kernel_initializer = zeros()})});
  model.compile({.optimizer = SGD({.learning_rate = 0.1f}), .loss = "mse"});
  MemoryFiles files;
  model.fit(data, {.batch_size = 2,
                   .epochs = 2,
                   .callbacks = {TensorBoard("logs", {.update_freq = 1}, files)},
                   .verbose = 0});
  std::vector<float> epochs, batches;
  for (const Scalar& scalar : scalars(files, "logs/train")) {
    if (scalar.tag == "epoch_gradient_norm") epochs.push_back(scalar.value);
    if (scalar.tag == "batch_gradient_norm") batches.push_back(scalar.value);
  }
  // d/dw mean((w x - y)^2) = w (1 + 4) - (3 + 8) = 5 w - 11.
  ASSERT_EQ(epochs.size(), 2u);
  EXPECT_FLOAT_EQ(epochs[0], 11);
  EXPECT_FLOAT_EQ(epochs[1], 5.5);
  EXPECT_EQ(batches, epochs);
}

TEST(TensorBoard, CountsTheRowsThatWereNotTrainedOn) {
  // The last row of the second epoch, which is a batch of its own.
  const PoisonPtr poison = std::make_shared<Poison>(
      Poison{.armed = true, .epoch = 1, .position = 3, .value = std::nanf("")});
  std::vector<float> x = {1, 2, 3, 4, 5, 6, 7, 8}, y = {1, 2, 3, 4};
  const SourcePtr data = data::arrays(
      {.x = {snug::Array(x.data(), Shape{4, 2})}, .y = {snug::Array(y.data(), Shape{4, 1})}});
  Sequential model({Input({2}), PoisonLayer(poison, "poison"), Dense(1)});
  model.compile({.optimizer = SGD(), .loss = "mse"});
  MemoryFiles files;
  model.fit(data, {.batch_size = 3,
                   .epochs = 2,
                   .callbacks = {TensorBoard("logs", {.left_out_rows = 5}, files)},
                   .verbose = 0,
                   .guard = {.policy = GuardOptions::Policy::skip}});
  for (const Scalar& scalar : scalars(files, "logs/train")) {
    EXPECT_TRUE(std::isfinite(scalar.value)) << scalar.tag;
    if (scalar.tag != "epoch_skipped_rows") continue;
    EXPECT_EQ(scalar.value, 5 + scalar.step);
  }
}

TEST(TensorBoard, BeginsWithTheVersionAndTheModel) {
  Fit with({}), without({.write_graph = false});
  const std::vector<std::string> found = events(with.files, "logs/train");
  EXPECT_EQ(bytes_at(found[0], 3), "brain.Event:2");
  EXPECT_NE(found[1].find("graph_keras_model"), std::string::npos);
  EXPECT_NE(found[1].find("\"class_name\":\"Sequential\""), std::string::npos);
  EXPECT_EQ(events(without.files, "logs/train").size(), found.size() - 1);
}

TEST(TensorBoard, WritesAModelWhoseTextIsLong) {
  const std::string name(2 * GrowingFile::kMostPending, 'n');
  Fit fit({}, /*validates=*/false, name);
  const std::vector<std::string> found = events(fit.files, "logs/train");
  EXPECT_NE(found.at(1).find(name), std::string::npos);
}

// That text is there as a record and in its file's buffer. Calls are in it that have no weights.
TEST(TensorBoard, CountsTheTextOfTheModelTwice) {
  const Layer shared = Dense(2);
  const Symbol x = Input({2});
  Symbol y = x;
  for (int i = 0; i < 50; ++i) y = shared(y) + x;
  Model model({x}, {y});
  model.network().set_paths();
  const auto bytes = [&](bool write_graph) {
    return TensorBoard("logs", {.write_graph = write_graph})->passing_bytes(model);
  };
  EXPECT_GE(bytes(true), bytes(false) + 2 * model_json(model.network()).size());
}

TEST(TensorBoard, WritesValidationToAFolderOfItsOwn) {
  Fit fit({}, /*validates=*/true);
  const std::vector<Scalar> written = scalars(fit.files, "logs/validation");
  ASSERT_EQ(written.size(), 3 * 4);
  EXPECT_EQ(written[0].tag, "evaluation_loss_vs_iterations");
  EXPECT_EQ(written[0].step, 2);
  EXPECT_EQ(written[1].tag, "epoch_loss");
  EXPECT_EQ(written[1].step, 0);
  EXPECT_FLOAT_EQ(written[1].value, static_cast<float>(fit.history.history.at("val_loss")[0]));
}

TEST(TensorBoard, WritesBatchesAndHistogramsWhenAsked) {
  Fit fit({.histogram_freq = 2, .write_steps_per_second = true, .update_freq = 2});
  int batches = 0, histograms = 0, rates = 0;
  for (const Scalar& scalar : scalars(fit.files, "logs/train")) {
    batches += scalar.tag == "batch_loss" ? 1 : 0;
    rates += scalar.tag == "epoch_steps_per_second" ? 1 : 0;
  }
  for (const std::string& event : events(fit.files, "logs/train"))
    histograms += event.find("dense/kernel/histogram") != std::string::npos ? 1 : 0;
  EXPECT_EQ(batches, 3);     // Of 6.
  EXPECT_EQ(histograms, 2);  // After the first and the third epoch.
  EXPECT_EQ(rates, 3);
}

// Reads back what was written, but for the seconds.
class LongEpoch final : public StateVisitor {
 public:
  void visit(std::string_view name, double& value) override {
    if (name == "epoch_seconds") value = 3e6;
  }
  void visit(std::string_view, int64_t&) override {}
  void visit(std::string_view, std::string&) override {}
  void visit(std::string_view, std::vector<double>&) override {}
  void visit_values(std::string_view, const Tensor&) override {}
  bool reads() const override { return true; }
};

// The time of a step counts what an interrupted run had spent on the epoch's first ones.
TEST(TensorBoard, AResumedEpochHasTheTimeOfAllItsSteps) {
  std::vector<float> x = {1, 2, 3, 4, 5, 6, 7, 8}, y = {1, 2, 3, 4};
  const SourcePtr data = data::arrays(
      {.x = {snug::Array(x.data(), Shape{4, 2})}, .y = {snug::Array(y.data(), Shape{4, 1})}});
  Sequential model({Input({2}), Dense(1)});
  model.compile({.optimizer = SGD(), .loss = "mse"});
  MemoryFiles files;
  const CallbackPtr board = TensorBoard("logs", {}, files);
  const auto resume = LambdaCallback({.on_train_batch_begin = [&](int64_t batch) {
    LongEpoch state;
    if (batch == 2 && model.compiled().iterations() == 2) board->state(state);
  }});
  model.fit(data, {.batch_size = 1, .epochs = 2, .callbacks = {board, resume}, .verbose = 0});
  std::vector<float> seconds;
  for (const Scalar& scalar : scalars(files, "logs/train"))
    if (scalar.tag == "epoch_step_seconds") seconds.push_back(scalar.value);
  ASSERT_EQ(seconds.size(), 2u);
  EXPECT_GE(seconds[0], 3e6f / 4);
  EXPECT_LT(seconds[1], 3e6f / 4);
}

// One that takes every third write.
TEST(TensorBoard, AFullDiskIsToldOfRarely) {
  MemoryFiles disk;
  FaultyFiles files(disk);
  RunLog file("TensorBoard", files);
  file.open(GrowingFile(files, "events", OpenMode::write));
  const LogText log;
  for (int i = 0; i < 3000; ++i) {
    if (i % 3 != 0) files.fail_call(1, Fault::no_space);
    file.add("x");
    file.write();
  }
  file.write();
  EXPECT_EQ(disk.size("events"), 3000);
  size_t warnings = 0;
  for (size_t at = log.messages.find("TensorBoard:"); at != std::string::npos;
       at = log.messages.find("TensorBoard:", at + 1))
    ++warnings;
  EXPECT_EQ(warnings, 4) << "of 2,000 failures the 1st, 10th, 100th and 1,000th";
}

TEST(TensorBoard, RefusesSettingsWithoutSense) {
  EXPECT_THROW(Fit({.histogram_freq = -1}), Error);
  EXPECT_THROW(Fit({.update_freq = 0}), Error);
  EXPECT_EQ(make_callback("tensor_board")->class_name(), "TensorBoard");
}

}  // namespace
}  // namespace snug::testing

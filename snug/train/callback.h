// What may watch and steer a run. Keras's hooks.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "snug/train/checkpoint_options.h"
#include "snug/train/history.h"
#include "snug/train/run_state.h"

namespace snug {

class Model;

// What the guard saw at the step that ended last.
struct StepFacts {
  std::optional<double> gradient_norm;  // Absent where the guard is off.
  int64_t skipped_rows = 0;             // Its rows, where it was left out.
};

struct RunParameters {
  int epochs = 1;
  std::optional<int64_t> steps;  // Of an epoch, where it is known.
  int verbose = 1;
  bool validates = false;                // Some epochs have val_ logs.
  bool resumed = false;                  // state() will be read once training has begun.
  const StepFacts* last_step = nullptr;  // While it trains.
};

class Callback {
 public:
  virtual ~Callback() = default;

  virtual void on_train_begin() {}
  virtual void on_train_end(const Logs& /*logs*/) {}
  virtual void on_epoch_begin(int /*epoch*/) {}
  // May add to the logs (ReduceLROnPlateau adds learning_rate): what it adds stands in the History.
  virtual void on_epoch_end(int /*epoch*/, Logs& /*logs*/) {}
  virtual void on_train_batch_begin(int64_t /*batch*/) {}
  virtual void on_train_batch_end(int64_t /*batch*/, const Logs& /*logs*/) {}
  virtual void on_test_begin() {}
  virtual void on_test_end(const Logs& /*logs*/) {}
  virtual void on_test_batch_begin(int64_t /*batch*/) {}
  virtual void on_test_batch_end(int64_t /*batch*/, const Logs& /*logs*/) {}
  virtual void on_predict_begin() {}
  virtual void on_predict_end() {}
  virtual void on_predict_batch_begin(int64_t /*batch*/) {}
  virtual void on_predict_batch_end(int64_t /*batch*/) {}

  // Whether on_train_batch_end and on_test_batch_end read their logs, which are of the epoch or
  // the pass so far: computing them costs a look at every metric. Where no callback does, the logs
  // of a batch may be empty.
  virtual bool wants_batch_logs() const { return true; }

  // Whether a step with bad numbers ends the run, as stop_training does, where the guard would stop
  // it with NumericsError (GuardOptions::Policy::stop). Nothing of the step is committed.
  virtual bool ends_on_bad_step() const { return false; }

  // What it carries from call to call, for checkpoints: written after any batch or epoch, read
  // after on_train_begin of a run that is resumed.
  virtual void state(StateVisitor& /*visitor*/) {}

  // For a callback that stands for checkpoints: fit saves them, and goes on from the newest.
  virtual std::optional<CheckpointOptions> checkpoints() const { return std::nullopt; }

  // What it will keep beside the model while training: the plan counts it. Not what waits for a
  // disk that fails: up to GrowingFile::kMostPending, or one larger record, for each of its files.
  virtual size_t held_bytes(const Model& /*model*/) const { return 0; }
  // What one of its calls takes beside that and gives back: the plan counts the largest of all
  // callbacks', for they are called one after the other. A pass over data that it makes with the
  // model (predict, evaluate) is planned within this and what the budget leaves.
  virtual size_t passing_bytes(const Model& /*model*/) const { return 0; }
  // How many arrays state() gives at most: a checkpoint lists them.
  virtual size_t arrays_of_state(const Model& /*model*/) const { return 0; }

  void set_model(Model& model) { model_ = &model; }
  void set_params(const RunParameters& params) { params_ = params; }

 protected:
  Model& model() const { return *model_; }
  const RunParameters& params() const { return params_; }

 private:
  Model* model_ = nullptr;
  RunParameters params_;
};
using CallbackPtr = std::shared_ptr<Callback>;

}  // namespace snug

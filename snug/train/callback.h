// What may watch and steer a run. Keras's hooks.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "snug/train/history.h"

namespace snug {

class Model;

struct RunParameters {
  int epochs = 1;
  std::optional<int64_t> steps;  // Of an epoch, where it is known.
  int verbose = 1;
  bool validates = false;  // Some epochs have val_ logs.
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

  // Whether on_train_batch_end reads its logs: computing them costs a look at every metric.
  virtual bool wants_batch_logs() const { return false; }

  // What it will keep beside the model while training: the plan counts it.
  virtual size_t held_bytes(const Model& /*model*/) const { return 0; }

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

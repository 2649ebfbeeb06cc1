// Which epoch was the best so far, by a value of the logs.
#pragma once

#include "snug/train/checkpoint_options.h"
#include "snug/train/monitor.h"

namespace snug {

class BestEpoch {
 public:
  // Throws Error where nothing measures options.best.
  BestEpoch(const CheckpointOptions& options, const Model& model, const RunParameters& params)
      : monitor_("checkpoint", options.best, options.best_mode, 0, model, params),
        best_(monitor_.worst()) {}

  // Whether this epoch is the best now.
  bool take(const Logs& logs) {
    const std::optional<double> value = monitor_.value(logs);
    if (!value || !monitor_.improves(*value, best_)) return false;
    best_ = *value;
    return true;
  }
  void state(StateVisitor& visitor) { visitor.visit("best", best_); }

 private:
  Monitor monitor_;
  double best_;
};

}  // namespace snug

// Which epoch was the best so far, by a value of the logs.
#pragma once

#include <utility>

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
    before_ = std::exchange(best_, *value);
    return true;
  }
  // The one that was taken last could not be saved: the one before it is the best still.
  void give_back() { best_ = before_; }
  void state(StateVisitor& visitor) { visitor.visit("best", best_); }

 private:
  Monitor monitor_;
  double best_, before_ = best_;
};

}  // namespace snug

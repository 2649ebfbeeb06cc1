// The models that a run leaves: best.keras and last.keras.
#pragma once

#include <optional>

#include "snug/base/file.h"
#include "snug/base/repeated_warning.h"
#include "snug/train/callback.h"

namespace snug::cli {

// Saves the model after every epoch that has the lowest loss so far, of validation where there is
// one, and when training ends. A disk that fails in between does not end the run.
class RunModels final : public Callback {
 public:
  // The folder, which is made only when the run has been planned.
  void save_to(const Path& folder) { folder_ = folder; }

  bool wants_batch_logs() const override { return false; }
  size_t passing_bytes(const Model& model) const override;
  void on_epoch_end(int epoch, Logs& logs) override;
  void on_train_end(const Logs& logs) override;
  void state(StateVisitor& visitor) override;

 private:
  Path folder_;
  std::optional<double> best_;
  RepeatedWarning trouble_;
};

}  // namespace snug::cli

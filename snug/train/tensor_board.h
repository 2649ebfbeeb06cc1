// Event files for TensorBoard; see TensorBoardOptions in callbacks.h.
#pragma once

#include <chrono>
#include <string>

#include "snug/train/callbacks.h"
#include "snug/train/run_log.h"

namespace snug {

class TensorBoardCallback final : public CallbackDefinition {
 public:
  TensorBoardCallback(std::string log_dir, const TensorBoardOptions& options, FileSystem& files)
      : log_dir_(std::move(log_dir)), options_(options), files_(files) {}

  // For a folder that is known only when the run has been planned.
  void set_log_dir(std::string log_dir) { log_dir_ = std::move(log_dir); }

  std::string_view class_name() const override { return "TensorBoard"; }
  void settings(SettingVisitor& visitor) override;
  bool wants_batch_logs() const override { return options_.update_freq.has_value(); }
  size_t passing_bytes(const Model& model) const override;

  void on_train_begin() override;
  void on_epoch_begin(int epoch) override;
  void on_train_batch_end(int64_t batch, const Logs& logs) override;
  void on_epoch_end(int epoch, Logs& logs) override;
  void on_train_end(const Logs& logs) override;
  void state(StateVisitor& visitor) override;

 private:
  using Clock = std::chrono::steady_clock;

  void add_validation(int epoch, const std::string& name, double value);
  void add_run(int epoch);
  void add_guard(int epoch);
  void add_weights(int epoch);
  double epoch_seconds() const;

  std::string log_dir_;
  TensorBoardOptions options_;
  FileSystem& files_;
  RunLog train_{"TensorBoard", files_}, validation_{"TensorBoard", files_};
  int64_t batches_ = 0, epoch_batches_ = 0;
  // Of the epoch's steps that were not skipped.
  double gradient_norms_ = 0;
  int64_t gradients_ = 0, skipped_rows_ = 0;
  // Of the epoch, or of the rest of it in a resumed run; what the run had spent on it before.
  Clock::time_point start_ = Clock::now();
  double earlier_seconds_ = 0;
};

}  // namespace snug

// What the CLI sees of a run while it goes on.
#pragma once

#include <chrono>
#include <optional>

#include "snug/cli/epoch_table.h"
#include "snug/cli/history_file.h"
#include "snug/train/callback.h"

namespace snug::cli {

// From now on SIGINT and SIGTERM ask the run to end after its step; a second one, half a second
// later or more, ends the program at once.
void catch_signals();
// The one that came, or 0.
int caught_signal();

// Counts steps and keeps the logs of every epoch, in memory and in history.csv. To be the last of
// the callbacks, so that it sees what the others add.
class RunWatch final : public Callback {
 public:
  // Of a run of so many epochs; `saved`: checkpoints hold them, too.
  RunWatch(int64_t epochs, bool saved) : expected_(epochs), is_saved_(saved) {
    epochs_.reserve(epochs);
  }

  // Where its history.csv is to be; known only when the run has been planned.
  void save_to(const Path& folder) { file_.emplace(real_files(), folder / "history.csv"); }

  void on_epoch_end(int epoch, Logs& logs) override;
  size_t held_bytes(const Model& model) const override;
  bool wants_batch_logs() const override { return false; }
  void on_train_batch_end(int64_t, const Logs&) override { ++steps_; }
  void state(StateVisitor& visitor) override;

  int64_t steps() const { return steps_; }
  const EpochTable& epochs() const { return epochs_; }
  double seconds() const;  // Those before an interruption included.
  // The whole history, at the end. Throws FileError.
  void write_history() { file_->write(epochs_); }

 private:
  using Clock = std::chrono::steady_clock;

  int64_t expected_ = 0;
  bool is_saved_ = false;
  double before_ = 0;
  Clock::time_point start_ = Clock::now();
  EpochTable epochs_;
  std::optional<HistoryFile> file_;
  int64_t steps_ = 0;
};

}  // namespace snug::cli

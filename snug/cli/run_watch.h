// What the CLI sees of a run while it goes on.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "snug/train/callback.h"

namespace snug::cli {

// From now on SIGINT and SIGTERM ask the run to end after its step; a second one ends the program
// at once.
void catch_signals();
// The one that came, or 0.
int caught_signal();

// Counts steps and keeps the logs of every epoch. To be the last of the callbacks, so that it sees
// what the others add.
class RunWatch final : public Callback {
 public:
  struct Epoch {
    int number = 0;
    Logs logs;
  };

  void on_epoch_end(int epoch, Logs& logs) override { epochs_.push_back({epoch, logs}); }
  void on_train_batch_end(int64_t, const Logs&) override { ++steps_; }
  void state(StateVisitor& visitor) override;

  int64_t steps() const { return steps_; }
  const std::vector<Epoch>& epochs() const { return epochs_; }
  double seconds() const;  // Those before an interruption included.

 private:
  using Clock = std::chrono::steady_clock;
  static void visit(Epoch& epoch, const std::string& number, StateVisitor& visitor);

  double before_ = 0;
  Clock::time_point start_ = Clock::now();
  std::vector<Epoch> epochs_;
  int64_t steps_ = 0;
};

}  // namespace snug::cli

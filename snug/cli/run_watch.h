// What the CLI sees of a run while it goes on.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "snug/train/callback.h"

namespace snug::cli {

// From now on SIGINT and SIGTERM ask the run to end after its step; a second one ends the program
// at once.
void catch_signals();
// The one that came, or 0.
int caught_signal();

// The logs of every epoch, a column a name: eight bytes a value, for runs of any length.
class EpochTable {
 public:
  // For so many epochs without moving anything.
  void reserve(int64_t epochs) { expected_ = epochs; }
  void add(int number, const Logs& logs);
  int64_t size() const { return std::ssize(numbers_); }
  Logs last() const;
  void state(StateVisitor& visitor);

  // A line for each epoch, under a header with the names of all logs; empty where an epoch has no
  // such log. Epochs count from 0, as in Keras's CSVLogger. `write` gets the text piece by piece.
  void write_csv(const std::function<void(std::string_view)>& write) const;

 private:
  static constexpr int64_t kMostExpected = int64_t{1} << 20;
  std::vector<double>& column(const std::string& name);

  int64_t expected_ = 0;
  std::vector<double> numbers_;
  std::map<std::string, std::vector<double>> columns_;
};

// Counts steps and keeps the logs of every epoch. To be the last of the callbacks, so that it sees
// what the others add.
class RunWatch final : public Callback {
 public:
  // Of a run of so many epochs.
  explicit RunWatch(int64_t epochs) : expected_(epochs) { epochs_.reserve(epochs); }

  void on_epoch_end(int epoch, Logs& logs) override { epochs_.add(epoch, logs); }
  size_t held_bytes(const Model& model) const override;
  void on_train_batch_end(int64_t, const Logs&) override { ++steps_; }
  void state(StateVisitor& visitor) override;

  int64_t steps() const { return steps_; }
  const EpochTable& epochs() const { return epochs_; }
  double seconds() const;  // Those before an interruption included.

 private:
  using Clock = std::chrono::steady_clock;

  int64_t expected_ = 0;
  double before_ = 0;
  Clock::time_point start_ = Clock::now();
  EpochTable epochs_;
  int64_t steps_ = 0;
};

}  // namespace snug::cli
